/** Speech is what is clearly louder than the quietest that was heard of late. */

import { NoiseFloor } from '@device-core/plugin-api/audio';
import type { AudioFrame } from '@device-core/plugin-api/services/audio';
import type { VadEngine, VadResult } from '@device-core/plugin-api/services/speech';

export interface Settings {
  /** Decibels over the noise at which speech begins. */
  readonly marginDb: number;
  /** Decibels by which the noise may seem to grow in a second. */
  readonly riseDb: number;
  /** Quieter than this, in decibels of full scale, is silence whatever the noise. */
  readonly leastDb: number;
}

/** Coefficient of the two high-passes of first order at 180 Hz: hum and rumble say nothing of speech. */
const HIGH_PASS = 0.93;
/** Between the levels at which speech begins and ends. */
const HYSTERESIS_DB = 3;
/** Louder frames after each other before it counts: a click is no speech. */
const ONSET = 2;

export class Gate {
  readonly #settings: Settings;
  #band = new Band();
  readonly #floor: NoiseFloor;
  #loud = 0;
  #speech = false;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#floor = new NoiseFloor(settings.riseDb);
  }

  judge(samples: Int16Array): Omit<VadResult, 'seq'> {
    const { marginDb, leastDb } = this.#settings;
    const level = Math.max(-96, this.#band.level(samples));
    const floor = this.#floor.level ?? level;
    this.#floor.follow(level);
    const threshold = Math.max(leastDb, floor + marginDb - (this.#speech ? HYSTERESIS_DB : 0));
    this.#loud = level > threshold ? this.#loud + 1 : 0;
    this.#speech = this.#loud > 0 && (this.#speech || this.#loud >= ONSET);
    return { speech: this.#speech, probability: 1 / (1 + Math.exp(-(level - threshold) / 2)) };
  }
}

/** Level of what lies where speech is loudest, up to some 4 kHz. */
class Band {
  #x = 0;
  #first = 0;
  #second = 0;

  /** Decibels of full scale. */
  level(samples: Int16Array): number {
    let sum = 0;
    for (const sample of samples) {
      const first = HIGH_PASS * (this.#first + sample - this.#x);
      const second = HIGH_PASS * (this.#second + first - this.#first);
      sum += ((second + this.#second) / 2) ** 2;
      this.#x = sample;
      this.#first = first;
      this.#second = second;
    }
    return 10 * Math.log10(sum / Math.max(1, samples.length) / 32_768 ** 2 + 1e-10);
  }
}

export function energyEngine(settings: Settings): VadEngine {
  return {
    async *detect(frames: AsyncIterable<AudioFrame>, { signal }): AsyncGenerator<VadResult, void, undefined> {
      const gate = new Gate(settings);
      for await (const { seq, samples } of frames) {
        if (signal.aborted) return;
        yield { seq, ...gate.judge(samples) };
      }
    },
  };
}
