/** Sounds that are made of numbers: tones with an envelope, and those by which the device answers. */
import { CoreError } from '@device-core/plugin-api';
import { toSample } from '@device-core/plugin-api/audio';
import type { FeedbackSound, PcmChunk, ToneSpec } from '@device-core/plugin-api/services/audio';

export const MOST_TONES = 64;
export const LONGEST_TONE_MS = 10_000;
const LONGEST_MS = 60_000;
const LEAST_HZ = 20;
const MOST_HZ = 20_000;
const ENVELOPE_MS = 5;
/** Overtones of the other waves: those that the rate carries, and no more than so many. */
const OVERTONES = 15;
const GAIN = 0.5;

/** Low and falling is no, high and rising is yes. */
export const FEEDBACK: Readonly<Record<FeedbackSound, readonly ToneSpec[]>> = {
  wake: [
    { frequency: 660, ms: 70, gain: 0.35 },
    { frequency: 990, ms: 110, gain: 0.35, releaseMs: 60 },
  ],
  'listening-end': [
    { frequency: 880, ms: 60, gain: 0.25 },
    { frequency: 660, ms: 80, gain: 0.25, releaseMs: 50 },
  ],
  done: [{ frequency: 1_047, ms: 120, gain: 0.3, releaseMs: 90 }],
  refused: [
    { frequency: 330, ms: 110, gain: 0.35, wave: 'triangle' },
    { frequency: 262, ms: 160, gain: 0.35, wave: 'triangle', releaseMs: 80 },
  ],
  error: [
    { frequency: 220, ms: 140, gain: 0.3, wave: 'square' },
    { frequency: 0, ms: 60 },
    { frequency: 220, ms: 180, gain: 0.3, wave: 'square', releaseMs: 60 },
  ],
  timer: [0, 1, 2].flatMap(() => [
    { frequency: 1_320, ms: 120, gain: 0.5, releaseMs: 40 },
    { frequency: 0, ms: 90 },
    { frequency: 1_320, ms: 120, gain: 0.5, releaseMs: 40 },
    { frequency: 0, ms: 420 },
  ]),
  mute: [{ frequency: 440, ms: 130, gain: 0.3, releaseMs: 70 }],
  unmute: [{ frequency: 880, ms: 130, gain: 0.3, releaseMs: 70 }],
};

/** Throws PARAMS_INVALID. */
export function checkTones(tones: readonly ToneSpec[]): void {
  const refuse = (where: string, reason: string): never => {
    throw new CoreError('PARAMS_INVALID', { where, reason });
  };
  if (tones.length > MOST_TONES) refuse('tones', `at most ${MOST_TONES} are allowed`);
  for (const [index, { frequency, ms, gain = 1, attackMs = 0, releaseMs = 0 }] of tones.entries()) {
    const where = `tones[${index}]`;
    if (frequency !== 0 && !(frequency >= LEAST_HZ && frequency <= MOST_HZ))
      refuse(where, `a frequency is 0 or ${LEAST_HZ} to ${MOST_HZ} Hz`);
    if (!(ms > 0 && ms <= LONGEST_TONE_MS)) refuse(where, `it lasts more than 0 and at most ${LONGEST_TONE_MS} ms`);
    if (!(gain >= 0 && gain <= 1)) refuse(where, 'its gain is 0 to 1');
    if (!(attackMs >= 0 && releaseMs >= 0)) refuse(where, 'rise and fall take no time that is negative');
  }
  if (tones.reduce((sum, { ms }) => sum + ms, 0) > LONGEST_MS)
    refuse('tones', `all of them last at most ${LONGEST_MS} ms`);
}

/** One chunk a tone. */
export async function* tonesOf(tones: readonly ToneSpec[], rate: number): AsyncGenerator<PcmChunk> {
  for (const tone of tones) yield { rate, samples: samplesOf(tone, rate) };
}

export function samplesOf(tone: ToneSpec, rate: number): Int16Array {
  const { frequency, ms, gain = 1, wave = 'sine', attackMs = ENVELOPE_MS, releaseMs = ENVELOPE_MS } = tone;
  const samples = new Int16Array(Math.round((ms * rate) / 1_000));
  if (frequency === 0 || frequency >= rate / 2) return samples;
  // If both do not fit, the loudest moment is in the middle.
  const attack = (Math.min(attackMs, ms / 2) * rate) / 1_000;
  const release = (Math.min(releaseMs, ms / 2) * rate) / 1_000;
  const parts = partsOf(wave, frequency, rate);
  for (let index = 0; index < samples.length; index++) {
    const envelope = Math.min(edge((index + 1) / attack), edge((samples.length - index) / release));
    const phase = (2 * Math.PI * frequency * index) / rate;
    let value = 0;
    for (const [order, level] of parts) value += level * Math.sin(order * phase);
    samples[index] = toSample(value * gain * GAIN * envelope);
  }
  return samples;
}

/** Half a cosine: no corner, no click. */
function edge(part: number): number {
  return part >= 1 || Number.isNaN(part) ? 1 : 0.5 - 0.5 * Math.cos(Math.PI * part);
}

/** Overtones by their order, with their levels; none that would fold back. */
function partsOf(wave: 'sine' | 'square' | 'triangle', frequency: number, rate: number): readonly [number, number][] {
  if (wave === 'sine') return [[1, 1]];
  const orders = Array.from({ length: OVERTONES }, (_, index) => 2 * index + 1);
  return orders
    .filter((order) => order * frequency < rate * 0.45)
    .map((order, index) =>
      wave === 'square' ? [order, 1 / order] : [order, ((index % 2 === 0 ? 1 : -1) * 8) / (Math.PI * order) ** 2],
    );
}
