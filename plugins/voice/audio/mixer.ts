/** Sounds of one moment as one: the loudness of each by its rank, changes without clicks, never beyond full scale. */

import { factorOf } from '@device-core/plugin-api/audio';
import type { AudioPriority } from '@device-core/plugin-api/services/audio';

/** Input of the mixer for a block. */
export interface Voice {
  readonly priority: AudioPriority;
  readonly gain: number;
  /** Factor of the last sample that was mixed; undefined before the first. */
  level: number | undefined;
  take(count: number): Int16Array;
}

const RANK: Readonly<Record<AudioPriority, number>> = { media: 0, notification: 1, speech: 2, alarm: 3 };
/** Part of the way to another loudness in one block: quickly down, so that the first word is understood, and slowly up. */
const DOWN = 0.7;
const UP = 0.25;
/** From here on the sum is bent, so that it never reaches the end. */
const KNEE = 0.85;

/** How much softer `priority` is while `highest` is heard. */
export function duckedBy(priority: AudioPriority, highest: AudioPriority, duckDb: number): number {
  if (RANK[priority] >= RANK[highest]) return 1;
  return highest === 'notification' ? factorOf(-duckDb / 2) : factorOf(-duckDb);
}

export class Mixer {
  readonly #duck: number;
  #volume: number;
  #heard: number;

  /** `duckDb` is how many decibels lower ranks are softer while speech or an alarm is heard. */
  constructor(duckDb: number, volume: number) {
    this.#duck = duckDb;
    this.#volume = volume;
    this.#heard = curve(volume);
  }

  get volume(): number {
    return this.#volume;
  }

  set volume(volume: number) {
    this.#volume = volume;
  }

  /** Nothing is heard now: the next block begins at the volume that is set. */
  rest(): void {
    this.#heard = curve(this.#volume);
  }

  mix(voices: Iterable<Voice>, length: number): Int16Array<ArrayBuffer> {
    const all = [...voices];
    const highest = all.reduce<AudioPriority>(
      (most, { priority }) => (RANK[priority] > RANK[most] ? priority : most),
      'media',
    );
    const sum = new Float32Array(length);
    for (const voice of all) {
      const target = voice.gain * duckedBy(voice.priority, highest, this.#duck);
      const from = voice.level ?? target;
      const to = nearer(from, target);
      const samples = voice.take(length);
      for (let index = 0; index < samples.length; index++)
        sum[index]! += samples[index]! * (from + ((to - from) * (index + 1)) / length);
      voice.level = to;
    }
    const from = this.#heard;
    const to = nearer(from, curve(this.#volume));
    this.#heard = to;
    const block = new Int16Array(length);
    for (let index = 0; index < length; index++)
      block[index] = bent((sum[index]! / 32_768) * (from + ((to - from) * (index + 1)) / length));
    return block;
  }
}

/** Loudness is not linear: half the volume sounds half as loud. */
function curve(volume: number): number {
  return volume * volume;
}

function nearer(from: number, target: number): number {
  const next = from + (target - from) * (target < from ? DOWN : UP);
  return Math.abs(next - target) < 0.001 ? target : next;
}

function bent(value: number): number {
  const size = Math.abs(value);
  const held = size <= KNEE ? size : KNEE + (1 - KNEE) * Math.tanh((size - KNEE) / (1 - KNEE));
  return Math.round(Math.sign(value) * Math.min(held * 32_768, 32_767));
}
