import { type Clock, maybe, STRETCH } from '@device-core/plugin-api';
import type { AppStatus } from '@device-core/plugin-api/services/apps';

/** Time when an app last reported, or began to run, and the health that it reported. */
export class LastHeard {
  readonly #clock: Clock;
  #at = 0;
  #taken = 0;
  #health: AppStatus['health'];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Health as this run reported it last. */
  get health(): AppStatus['health'] {
    return this.#health;
  }

  report(status: string, message: string | undefined): void {
    this.#health = { status, ...maybe({ message }), at: this.#clock.now() };
    this.now();
  }

  /** The run is over. */
  forget(): void {
    this.#health = undefined;
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
