import { CoreError } from '@device-core/plugin-api';
import type { PcmChunk } from '@device-core/plugin-api/services/audio';
import type { SpeakOptions, TtsEngine } from '@device-core/plugin-api/services/speech';
import { beepsOf } from './morse.ts';

/** Names of voices, and the frequency of their beeps. */
export const VOICES: Readonly<Record<string, number>> = { high: 800, low: 400 };
const RATE = 16_000;
const DOT_MS = 60;
const LEVEL = 9_000;
const MOST_CHARACTERS = 2_000;

/** Speaks in Morse. An engine with a voice has the same form: text in, pieces of sound out, the first as soon as it is there. */
export class MorseVoice implements TtsEngine {
  async *speak(text: string, { voice = 'high', signal }: SpeakOptions): AsyncGenerator<PcmChunk, void, undefined> {
    const frequency = Object.hasOwn(VOICES, voice) ? VOICES[voice]! : undefined;
    if (frequency === undefined)
      throw new CoreError('PARAMS_INVALID', { where: 'voice', reason: `there is no ${voice}` });
    if (text.length > MOST_CHARACTERS) {
      const reason = `it has more than ${MOST_CHARACTERS} characters`;
      throw new CoreError('PARAMS_INVALID', { where: 'text', reason });
    }
    for (const word of text.split(/\s+/)) {
      const samples = beepsOf(word).flatMap(({ dots, pause }) => [...beep(dots, frequency), ...beep(pause, 0)]);
      if (signal?.aborted)
        throw new CoreError('CANCELLED', { what: 'plugin-id', reason: 'the caller no longer listens' });
      if (samples.length > 0) yield { rate: RATE, samples: Int16Array.from([...samples, ...beep(4, 0)]) };
    }
  }
}

function beep(dots: number, frequency: number): readonly number[] {
  const length = (dots * DOT_MS * RATE) / 1_000;
  const turn = (2 * Math.PI * frequency) / RATE;
  // Rises and falls within 5 ms: a beep that is cut off clicks.
  const edge = RATE / 200;
  return Array.from({ length }, (_, at) => LEVEL * Math.min(1, at / edge, (length - at) / edge) * Math.sin(turn * at));
}
