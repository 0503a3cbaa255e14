/**
 * The floor: the machine of the voice, and its inputs in their order. Parts put inputs in; one performer runs the
 * effects.
 */
import type { CoreError } from '@device-core/plugin-api';
import { monotonicMs } from '@device-core/plugin-api/services/audio';
import type { WakeHit } from '@device-core/plugin-api/services/speech';
import { type Effect, type Input, type Limits, type Machine, START, step } from './machine.ts';

/** An input, with what the machine need not know of it. */
export type Happening = Input & {
  /** The phrase of a wake. */
  readonly hit?: WakeHit;
  /** Why speech failed, in the words of whoever failed. */
  readonly error?: CoreError;
};

export interface Performer {
  /** The machine has taken the input already; `before` is what it was. */
  perform(effects: readonly Effect[], happening: Happening, before: Machine): void;
  /** Nothing waits any more. */
  settled(): void;
}

export class Floor {
  readonly #limits: Limits;
  readonly #inputs: Happening[] = [];
  #performer: Performer | undefined;
  #running = false;
  #machine: Machine = START;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  get machine(): Machine {
    return this.#machine;
  }

  /** In the middle of a step. */
  get busy(): boolean {
    return this.#running;
  }

  /** The one that does what the machine says. What happened before it came is dealt with now. */
  run(performer: Performer): void {
    this.#performer = performer;
    this.#drain();
  }

  /** Adds an input. One that comes while another is being handled waits for it. */
  input(happening: Happening): void {
    this.#inputs.push(happening);
    this.#drain();
  }

  #drain(): void {
    const performer = this.#performer;
    if (!performer || this.#running) return;
    this.#running = true;
    try {
      for (let next = this.#inputs.shift(); next; next = this.#inputs.shift()) {
        const before = this.#machine;
        const { machine, effects } = step(before, next, monotonicMs(), this.#limits);
        this.#machine = machine;
        performer.perform(effects, next, before);
      }
    } finally {
      this.#running = false;
    }
    performer.settled();
  }
}
