/** PING on an idle link, and the round trip it measures. Any valid packet counts as life; a PING that stays without PONG does not. */

const PATIENCE_PERIODS = 3;

export class Heartbeat {
  readonly periodMs: number;
  #lastLife: number;
  #lastPing = Number.NEGATIVE_INFINITY;
  #unanswered: { readonly token: number; readonly first: number; last: number } | undefined;
  #token = 0;
  #rttUs: number | undefined;

  constructor(periodMs: number, now: number) {
    this.periodMs = periodMs;
    this.#lastLife = now;
  }

  /** Of the last PING that was answered. */
  get rttUs(): number | undefined {
    return this.#rttUs;
  }

  /** When the next PING is due. */
  get due(): number {
    return Math.max(this.#lastLife, this.#lastPing) + this.periodMs;
  }

  alive(now: number): void {
    this.#lastLife = now;
  }

  /** The token of a PING that goes out now. */
  ping(now: number): number {
    this.#token = (this.#token + 1) >>> 0;
    this.#lastPing = now;
    this.#unanswered = { token: this.#token, first: this.#unanswered?.first ?? now, last: now };
    return this.#token;
  }

  /** When the PING that it answers was sent; undefined for one that nobody waits for. */
  pong(token: number, now: number): number | undefined {
    if (this.#unanswered?.token !== token) return undefined;
    const { last } = this.#unanswered;
    this.#rttUs = Math.round((now - last) * 1000);
    this.#unanswered = undefined;
    return last;
  }

  dead(now: number): boolean {
    return this.#unanswered !== undefined && now - this.#unanswered.first > PATIENCE_PERIODS * this.periodMs;
  }
}
