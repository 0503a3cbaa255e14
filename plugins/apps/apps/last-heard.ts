import { type Clock, STRETCH } from '@device-core/plugin-api';

/** When an app was last heard of, or began to run. */
export class LastHeard {
  readonly #clock: Clock;
  #at = 0;
  #taken = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): void {
    this.#at = this.#clock.monotonic();
    this.#taken = this.#clock.taken();
  }

  /** Milliseconds since then in which it could have said something: the wall clock may jump, and the board may be busy. */
  get quietMs(): number {
    const wall = this.#clock.monotonic() - this.#at;
    return Math.max(wall / STRETCH, wall - (this.#clock.taken() - this.#taken));
  }
}
