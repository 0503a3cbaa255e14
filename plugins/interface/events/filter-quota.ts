import { CoreError, canonicalFilter, type Session } from '@device-core/plugin-api';

/** How many filters each app holds over all its sessions (decisions D8: 32); one that several sessions hold counts once. */
export class FilterQuota {
  readonly #limit: number;
  /** How many sessions of an app hold a canonical filter. */
  readonly #held = new Map<string, Map<string, number>>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Room for more filters of one session, one call for each. Throws SUBSCRIPTION_LIMIT, FILTER_INVALID. */
  room({ app }: Session): (filter: string) => void {
    const fresh = new Set<string>();
    return (filter) => {
      const held = this.#held.get(app);
      const name = canonicalFilter(filter);
      if (held?.has(name) || fresh.has(name)) return;
      if ((held?.size ?? 0) + fresh.size >= this.#limit)
        throw new CoreError('SUBSCRIPTION_LIMIT', { filter, limit: this.#limit });
      fresh.add(name);
    };
  }

  /** `by` is 1 for a session that holds a filter now, -1 for one that does not any more. */
  count(app: string, canonical: string, by: 1 | -1): void {
    const held = this.#held.get(app) ?? new Map<string, number>();
    const count = (held.get(canonical) ?? 0) + by;
    if (count > 0) held.set(canonical, count);
    else held.delete(canonical);
    if (held.size > 0) this.#held.set(app, held);
    else this.#held.delete(app);
  }
}
