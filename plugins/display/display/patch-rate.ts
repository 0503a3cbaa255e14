/** How often an app may change its surface: so many a second, and a burst of them. */
import { CoreError } from '@device-core/plugin-api';

export class PatchRate {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #buckets = new Map<string, { tokens: number; at: number }>();

  constructor(perSecond: number, burst: number) {
    this.#perSecond = perSecond;
    this.#burst = burst;
  }

  /** Throws RATE_LIMITED. */
  take(app: string, now: number): void {
    const bucket = this.#buckets.get(app) ?? { tokens: this.#burst, at: now };
    const tokens = Math.min(this.#burst, bucket.tokens + ((now - bucket.at) * this.#perSecond) / 1_000);
    if (tokens < 1) {
      this.#buckets.set(app, { tokens, at: now });
      const retryAfterMs = Math.ceil(((1 - tokens) * 1_000) / this.#perSecond);
      const limit = `${this.#perSecond} a second`;
      throw new CoreError('RATE_LIMITED', { caller: app, limit, what: 'changes of its surface', retryAfterMs });
    }
    this.#buckets.set(app, { tokens: tokens - 1, at: now });
  }

  forget(app: string): void {
    this.#buckets.delete(app);
  }
}
