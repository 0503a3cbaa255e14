/** Uses of the rights of one plugin from outside, as its border sees them: a count and a time for each right. */
import type { GuestUses, PluginUse } from '@device-core/plugin-api/inside/services/plugin-manager';

/** Rights of one plugin that have a row of their own; all others share one. */
const MOST = 256;

export interface Tally {
  count: number;
  /** Milliseconds since the Unix epoch. */
  last: number;
}

export class UseBook {
  /** Milliseconds since the Unix epoch. */
  readonly began = Date.now();
  readonly #rows = new Map<string, Tally & Pick<PluginUse, 'kind' | 'name'>>();

  /** The row of a right, to be written at each use: looked up once where the caller can keep it. */
  of(kind: PluginUse['kind'], name: string): Tally {
    const known = this.#rows.get(`${kind} ${name}`);
    if (known) return known;
    if (this.#rows.size >= MOST && kind !== 'other') return this.of('other', 'others');
    const row = { kind, name, count: 0, last: 0 };
    this.#rows.set(`${kind} ${name}`, row);
    return row;
  }

  used(kind: PluginUse['kind'], name: string): void {
    const row = this.of(kind, name);
    row.count++;
    row.last = Date.now();
  }

  /** The function, with each call counted. */
  counted<A extends readonly unknown[], R>(tally: Tally, now: () => number, fn: (...args: A) => R): (...args: A) => R {
    return (...args) => {
      tally.count++;
      tally.last = now();
      return fn(...args);
    };
  }

  /** Rows that were used, in the order of their first look-up. */
  told(): Pick<GuestUses, 'began' | 'uses'> {
    const uses = [...this.#rows.values()].filter(({ count }) => count > 0).map((row) => ({ ...row }));
    return { began: this.began, uses };
  }
}
