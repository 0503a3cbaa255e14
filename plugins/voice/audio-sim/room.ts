/** Sound in the room of the simulated microphone, by the samples of its clock. */

import { CoreError } from '@device-core/plugin-api';
import { msOf } from '@device-core/plugin-api/audio';
import { CAPTURE_RATE } from '@device-core/plugin-api/services/audio';

interface Sound {
  /** Sample of the clock at which it begins. */
  readonly first: number;
  readonly samples: Int16Array;
}

const PER_MS = CAPTURE_RATE / 1_000;
/** Injected sound begins so much later than it came, so that all of it is heard. */
const AHEAD_MS = 40;
/** Factor of the bound for sounds that play over each other. */
const MOST_OVER = 2;

export class Room {
  readonly #most: number;
  #sounds: Sound[] = [];
  #injected = 0;
  #noise = 1;

  /** Holds at most so many seconds of sound that is still to come. */
  constructor(mostSeconds: number) {
    this.#most = mostSeconds * CAPTURE_RATE;
  }

  /** After what was injected before, or over it. The times of its first and last sample. Throws BUSY. */
  inject(samples: Int16Array, now: number, over = false): { readonly from: number; readonly to: number } {
    this.#forget(now);
    const soon = Math.round((now + AHEAD_MS) * PER_MS);
    const first = over ? soon : Math.max(this.#injected, soon);
    const end = first + samples.length;
    const waiting = this.#sounds.reduce((sum, sound) => sum + sound.samples.length, 0);
    if (end - now * PER_MS > this.#most || (over && waiting + samples.length > MOST_OVER * this.#most))
      throw new CoreError('BUSY', { what: 'more sound', limit: `${msOf(this.#most) / 1_000} s of sound` });
    this.#sounds.push({ first, samples });
    this.#injected = Math.max(this.#injected, end);
    return { from: first / PER_MS, to: end / PER_MS };
  }

  /** Over whatever there is at that time: the speaker that is heard by the microphone. */
  add(samples: Int16Array, at: number, now: number): void {
    this.#forget(now);
    this.#sounds.push({ first: Math.round(at * PER_MS), samples });
  }

  /** Samples that end at `at`. Never all zero: a real microphone is not. */
  hear(at: number, length: number): Int16Array<ArrayBuffer> {
    const from = Math.round(at * PER_MS) - length;
    const frame = new Int16Array(length);
    for (let index = 0; index < length; index++) {
      this.#noise = (Math.imul(this.#noise, 1_664_525) + 1_013_904_223) >>> 0;
      frame[index] = (this.#noise >>> 30) - 1;
    }
    for (const { first, samples } of this.#sounds) {
      const begin = Math.max(from, first);
      const end = Math.min(from + length, first + samples.length);
      for (let sample = begin; sample < end; sample++) {
        const sum = frame[sample - from]! + samples[sample - first]!;
        frame[sample - from] = Math.max(-32_768, Math.min(32_767, sum));
      }
    }
    return frame;
  }

  #forget(now: number): void {
    // A frame that is late still wants what was there.
    const past = (now - 2_000) * PER_MS;
    this.#sounds = this.#sounds.filter(({ first, samples }) => first + samples.length > past);
  }
}
