/** Leases that hold an update back for a while: bounded in number and time, never for ever. */
import { type Clock, CoreError } from '@device-core/plugin-api';
import type { InhibitLease } from '@device-core/plugin-api/inside/services/updates';

const MOST_LEASES = 16;
export const LONGEST_MS = 24 * 3_600_000;
/** A holder that lets go for less has not let go. */
const BREAK_MS = 3_600_000;

interface Held extends InhibitLease {
  /** In time of clock.steady(). */
  readonly ends: number;
}

export class Leases {
  readonly #clock: Pick<Clock, 'now' | 'steady'>;
  readonly #held = new Map<string, Held>();
  /** By holder: since when it holds one without a break, and until when. */
  readonly #since = new Map<string, { readonly since: number; until: number }>();
  #number = 0;

  constructor(clock: Pick<Clock, 'now' | 'steady'>) {
    this.#clock = clock;
  }

  /** Throws BUSY beyond 16, UPDATE_REFUSED (`lease`) for who has held one back for 24 hours. */
  take(holder: string, reason: string, ms: number): InhibitLease {
    const at = this.#clock.steady();
    const all = this.list();
    if (all.length >= MOST_LEASES) throw new CoreError('BUSY', { what: 'a lease', limit: MOST_LEASES });
    for (const [name, { until }] of this.#since) if (at > until + BREAK_MS) this.#since.delete(name);
    const known = this.#since.get(holder) ?? { since: at, until: at };
    const ends = Math.min(at + ms, known.since + LONGEST_MS);
    if (ends <= at)
      throw new CoreError('UPDATE_REFUSED', {
        verb: 'hold back',
        reason: `${holder} has done so for ${LONGEST_MS / 3_600_000} hours`,
        rule: 'lease',
      });
    known.until = Math.max(known.until, ends);
    this.#since.set(holder, known);
    this.#number += 1;
    const id = String(this.#number);
    const lease = { id, holder, reason, until: this.#clock.now() + (ends - at) };
    this.#held.set(id, { ...lease, ends });
    return lease;
  }

  get(id: string): InhibitLease | undefined {
    return this.list().find((lease) => lease.id === id);
  }

  /** True where it was held. */
  release(id: string): boolean {
    const lease = this.#held.get(id);
    if (lease) this.#letGo(lease);
    return this.#held.delete(id);
  }

  /** A holder that is gone holds nothing. True where it did. */
  forget(holder: string): boolean {
    const gone = [...this.#held.values()].filter((lease) => lease.holder === holder);
    for (const { id } of gone) this.release(id);
    return gone.length > 0;
  }

  /** Those that are not over, the oldest first. */
  list(): readonly InhibitLease[] {
    const at = this.#clock.steady();
    for (const { id, ends } of this.#held.values()) if (ends <= at) this.#held.delete(id);
    return [...this.#held.values()].map(({ ends: _, ...lease }) => lease);
  }

  #letGo({ holder }: Held): void {
    const known = this.#since.get(holder);
    if (known) known.until = this.#clock.steady();
  }
}
