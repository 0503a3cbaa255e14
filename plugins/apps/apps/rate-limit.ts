/** A token bucket: `perSecond` on average, twice as many at once. Times are milliseconds of a clock that never goes back. */
export class RateLimit {
  readonly #perSecond: number;
  #level: number;
  #at = 0;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
    this.#level = perSecond * 2;
  }

  /** Takes one if there is one: 0. Otherwise the milliseconds until there is. */
  take(now: number): number {
    this.#level = Math.min(this.#perSecond * 2, this.#level + ((now - this.#at) / 1000) * this.#perSecond);
    this.#at = now;
    if (this.#level < 1) return Math.ceil(((1 - this.#level) / this.#perSecond) * 1000);
    this.#level -= 1;
    return 0;
  }
}
