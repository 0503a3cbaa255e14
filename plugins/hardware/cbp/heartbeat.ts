/** PING on an idle link, and the round trip it measures. Any valid packet counts as life; a PING that stays without PONG does not. */
import { type Clock, OwnTimeLimit } from '@device-core/plugin-api';

const PATIENCE_PERIODS = 3;

export class Heartbeat {
  readonly periodMs: number;
  readonly #clock: Clock;
  #lastLife: number;
  #lastPing = Number.NEGATIVE_INFINITY;
  #unanswered: { readonly token: number; readonly limit: OwnTimeLimit; last: number } | undefined;
  #token = 0;
  #rttUs: number | undefined;

  constructor(periodMs: number, clock: Clock) {
    this.periodMs = periodMs;
    this.#clock = clock;
    this.#lastLife = clock.monotonic();
  }

  /** Round trip of the last PING that was answered. */
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
    const limit = this.#unanswered?.limit ?? new OwnTimeLimit(this.#clock, PATIENCE_PERIODS * this.periodMs);
    this.#unanswered = { token: this.#token, limit, last: now };
    return this.#token;
  }

  /** Time at which the answered PING was sent; undefined for an answer without a waiting PING. */
  pong(token: number, now: number): number | undefined {
    if (this.#unanswered?.token !== token) return undefined;
    const { last } = this.#unanswered;
    this.#rttUs = Math.round((now - last) * 1000);
    this.#unanswered = undefined;
    return last;
  }

  /** The oldest PING without an answer has waited for too long. */
  get dead(): boolean {
    return this.#unanswered?.limit.leftMs === 0;
  }
}
