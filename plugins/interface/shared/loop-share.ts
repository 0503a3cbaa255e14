/** Processor time that one app or client takes of the event loop (docs/adr/0187, 0197). */

/** Milliseconds of the processor, and messages. */
export const SHARE = {
  /** Messages of a turn are so few that they take about this long. */
  turnMs: 1,
  /** A turn may take as long without being charged: one message cannot be cut. */
  freeMs: 4,
  /** May be taken at once, as at a start. */
  savedMs: 100 as number,
  /** Comes back in a millisecond: others have the loop for the rest. */
  perMs: 0.04 as number,
  together: 32,
  refusedMs: 50,
  /** Debts above it are let off: an app that waits cannot answer whether it lives. */
  owedMs: 80,
};

/** Processor time that may be taken at once, and that comes back in a millisecond. */
export type Means = Pick<typeof SHARE, 'savedMs' | 'perMs'>;

/** Requests over REST cost more than messages: with the share of a session a page of thirty answers waits for seconds. */
export const REQUESTS: Means = { savedMs: 1_000, perMs: 0.25 };

/** Milliseconds of the processor that this thread took: a busy machine does not stretch them. */
export function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** Cheap turns are free. Dear ones are paid out of a bucket, and who has emptied it waits until it is paid. */
export class LoopShare {
  readonly #now: () => number;
  #most = SHARE.together;
  readonly #means: Means;
  #savedMs: number;
  #at: number;

  /** `now`: milliseconds that never go back. */
  constructor(now: () => number, means: Means = SHARE) {
    this.#now = now;
    this.#means = means;
    this.#savedMs = means.savedMs;
    this.#at = now();
  }

  /** Messages of one turn, learnt from what the turns before took. */
  get most(): number {
    return this.#most;
  }

  /** Milliseconds until its next turn; 0 where it may have it now. */
  get owedMs(): number {
    this.#refill();
    return this.#savedMs >= 0 ? 0 : Math.ceil(-this.#savedMs / this.#means.perMs);
  }

  get isFull(): boolean {
    this.#refill();
    return this.#savedMs >= this.#means.savedMs;
  }

  /** To be called with the processor time of a turn and its messages. `weight`: of so many turns one is measured. */
  charge(ms: number, messages: number, weight = 1): void {
    this.#refill();
    if (messages > 0) {
      const fit = Math.max(1, Math.floor((messages * SHARE.turnMs) / ms));
      this.#most = Math.min(SHARE.together, 2 * this.#most, fit);
    }
    this.#savedMs = Math.max(-SHARE.owedMs, this.#savedMs - Math.max(0, ms - SHARE.freeMs) * weight);
  }

  /** A message was refused because it would have taken too long: its sender waits as if it had. */
  refused(): void {
    this.charge(SHARE.refusedMs, 0);
  }

  #refill(): void {
    const now = this.#now();
    const { savedMs, perMs } = this.#means;
    this.#savedMs = Math.min(savedMs, this.#savedMs + (now - this.#at) * perMs);
    this.#at = now;
  }
}
