/** Token buckets by key, refilled by time alone: no timers, and a bound on how many are remembered. */

export interface Rate {
  readonly perMinute: number;
  readonly burst: number;
}

interface Bucket {
  tokens: number;
  /** Milliseconds of the monotonic clock at which `tokens` was true. */
  at: number;
}

export class TokenBuckets {
  /** Least recently used first. */
  readonly #buckets = new Map<string, Bucket>();
  #newest: string | undefined;
  readonly #capacity: number;
  readonly #now: () => number;

  constructor(capacity: number, now: () => number) {
    this.#capacity = capacity;
    this.#now = now;
  }

  get size(): number {
    return this.#buckets.size;
  }

  /** Takes a token. Answers 0, or the milliseconds after which there will be one. */
  take(key: string, rate: Rate): number {
    const now = this.#now();
    const perMs = rate.perMinute / 60_000;
    const known = this.#buckets.get(key);
    // A bucket that was forgotten is as full as one that was never used.
    const bucket = known ?? { tokens: rate.burst, at: now };
    bucket.tokens = Math.min(rate.burst, bucket.tokens + (now - bucket.at) * perMs);
    bucket.at = now;
    if (!known && this.#buckets.size >= this.#capacity) this.#buckets.delete(this.#buckets.keys().next().value!);
    if (key !== this.#newest) {
      this.#buckets.delete(key);
      this.#buckets.set(key, bucket);
      this.#newest = key;
    }
    if (bucket.tokens < 1) return Math.ceil((1 - bucket.tokens) / perMs);
    bucket.tokens -= 1;
    return 0;
  }
}
