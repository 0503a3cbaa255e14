/** When the next attempt is made: full jitter below a bound that doubles, or what the other side asked for. */

const FIRST_MS = 1_000;
const MOST_MS = 5 * 60_000;
/** Also what a receiver gets that asks for an attempt at once, again and again. */
const LEAST_MS = 100;
const LEAST_ASKED_MS = 1_000;
const MOST_ASKED_MS = 86_400_000;

export class BackOff {
  readonly #random: () => number;
  #attempts = 0;

  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  /** Milliseconds. */
  next(askedMs?: number): number {
    const most = Math.min(MOST_MS, FIRST_MS * 2 ** Math.min(this.#attempts, 20));
    this.#attempts += 1;
    if (askedMs !== undefined && Number.isFinite(askedMs) && askedMs >= 0)
      return Math.min(MOST_ASKED_MS, Math.max(LEAST_ASKED_MS, askedMs));
    return Math.max(LEAST_MS, Math.round(this.#random() * most));
  }

  reset(): void {
    this.#attempts = 0;
  }
}
