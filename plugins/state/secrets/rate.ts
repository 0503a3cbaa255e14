/** How often one caller may change secrets: each change writes the whole vault twice, and syncs it. */
import { CoreError } from '@device-core/plugin-api';

interface Bucket {
  level: number;
  at: number;
}

/** As many at once as a minute has; callers that were quiet for a minute are forgotten. */
export class ChangeRate {
  readonly #perMinute: number;
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();

  /** `now`: milliseconds of a clock that never goes back. */
  constructor(perMinute: number, now: () => number) {
    this.#perMinute = perMinute;
    this.#now = now;
  }

  /** Throws RATE_LIMITED. */
  take(caller: string): void {
    const now = this.#now();
    for (const [other, { at }] of this.#buckets) if (now - at >= 60_000) this.#buckets.delete(other);
    const bucket = this.#buckets.get(caller) ?? { level: this.#perMinute, at: now };
    bucket.level = Math.min(this.#perMinute, bucket.level + ((now - bucket.at) / 60_000) * this.#perMinute);
    bucket.at = now;
    this.#buckets.set(caller, bucket);
    if (bucket.level < 1) {
      const retryAfterMs = Math.ceil(((1 - bucket.level) / this.#perMinute) * 60_000);
      const limit = `${this.#perMinute} a minute`;
      throw new CoreError('RATE_LIMITED', { caller, limit, what: 'changes of secrets', retryAfterMs });
    }
    bucket.level -= 1;
  }
}
