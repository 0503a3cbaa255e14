import { setImmediate } from 'node:timers/promises';

/** Others have a turn after so long. */
const TURN_MS = 10;
/** One answer takes no more of a processor; what it has by then is the answer. */
const MOST_MS = 2_000;

/** Long work on the Core's own thread, in turns. */
export class Pace {
  #began = performance.now();
  #spentMs = 0;

  get isDue(): boolean {
    return performance.now() - this.#began > TURN_MS;
  }

  /** It has taken all that it may. */
  get isSpent(): boolean {
    return this.#spentMs > MOST_MS;
  }

  async rest(): Promise<void> {
    this.#spentMs += performance.now() - this.#began;
    await setImmediate();
    this.#began = performance.now();
  }
}
