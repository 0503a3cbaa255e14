/** The bridge's clock, as PING midpoints tell it: 32 bits of microseconds that run round in 72 minutes. */

const ROUND = 2 ** 32;
/** A round trip this much longer than the shortest of late says less of the other clock than what is known already. */
const LATE = 2;
/** Age at which a clock offset is stale: a crystal drifts by some 50 us in a second. */
const STALE_MS = 30_000;

export class BridgeTime {
  /** Host milliseconds at which the bridge's clock was `#bridgeUs`. */
  #at = Number.NaN;
  #bridgeUs = 0;
  #rtt = Number.POSITIVE_INFINITY;

  get known(): boolean {
    return !Number.isNaN(this.#at);
  }

  /** A PONG: sent and received in host milliseconds, the bridge's time in between in microseconds. */
  sample(sent: number, received: number, bridgeUs: number): void {
    const rtt = received - sent;
    if (this.known && rtt > LATE * this.#rtt && received - this.#at < STALE_MS) return;
    this.#rtt = rtt;
    this.#at = (sent + received) / 2;
    this.#bridgeUs = bridgeUs >>> 0;
  }

  /** Host milliseconds of a time of the bridge, `now` at most: an event arrives after it happened; `now` while nothing is known. */
  toHost(bridgeUs: number, now: number): number {
    return this.known ? Math.min(now, this.#nearest(bridgeUs)) : now;
  }

  /** Is a time of the bridge between these host milliseconds? One of more than half a round ago seems to come, and is not. */
  isBetween(bridgeUs: number, from: number, to: number): boolean {
    const at = this.known ? this.#nearest(bridgeUs) : to;
    return at >= from && at <= to;
  }

  #nearest(bridgeUs: number): number {
    const distance = ((bridgeUs >>> 0) - this.#bridgeUs + 1.5 * ROUND) % ROUND;
    return this.#at + (distance - ROUND / 2) / 1_000;
  }
}
