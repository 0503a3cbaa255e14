import { setImmediate as breath } from 'node:timers/promises';
import { CoreError, reasonOf } from '@device-core/plugin-api';
import type { AudioFrame } from '@device-core/plugin-api/services/audio';
import type { VadEngine, VadResult } from '@device-core/plugin-api/services/speech';
import { toFloats } from './samples.ts';
import type { Shape } from './shapes.ts';
import type { Sherpa, Vad } from './sherpa.ts';

/** Seconds of speech that it keeps for who would take segments, which nobody does; its room grows when it is too small. */
const KEPT_S = 30;
/** It says yes or no: how sure it is shows in how it judged the frames before. */
const MEMORY = 0.6;
const BREATH = 25;
const MOST_IDLE = 2;

export class Silero implements VadEngine {
  readonly #load: () => Sherpa;
  readonly #shape: Shape;
  readonly #idle: Vad[] = [];

  constructor(load: () => Sherpa, shape: Shape) {
    this.#load = load;
    this.#shape = shape;
  }

  async *detect(frames: AsyncIterable<AudioFrame>): AsyncGenerator<VadResult, void, undefined> {
    const vad = this.#idle.pop() ?? this.#open();
    let probability = 0;
    let count = 0;
    try {
      for await (const { seq, samples } of frames) {
        vad.acceptWaveform(toFloats(samples));
        while (!vad.isEmpty()) vad.pop();
        const speech = vad.isDetected();
        probability = MEMORY * probability + (speech ? 1 - MEMORY : 0);
        yield { seq, speech, probability };
        count++;
        if (count % BREATH === 0) await breath();
      }
    } finally {
      vad.reset();
      if (this.#idle.length < MOST_IDLE) this.#idle.push(vad);
    }
  }

  /** Throws SPEECH_FAILED. */
  #open(): Vad {
    try {
      return new (this.#load().Vad)(this.#shape.config, KEPT_S);
    } catch (cause) {
      throw new CoreError('SPEECH_FAILED', { engine: 'silero', reason: reasonOf(cause) }, { cause });
    }
  }
}
