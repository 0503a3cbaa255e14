import type { DepartureSum } from '@device-core/plugin-api/inside/services/ledger';

type Counted = Pick<DepartureSum, 'for' | 'to'> & { readonly count?: number; readonly bytes?: number };

/** Receiver of the rest if too many are known. */
const OTHERS = '(others)';

/** Counts and bytes by sender and receiver. */
export class Sums {
  readonly #most: number;
  readonly #byReceiver = new Map<string, DepartureSum>();

  /** Receivers over `most` are summed up for each sender. */
  constructor(most: number) {
    this.#most = most;
  }

  add({ for: sender, to, count = 1, bytes = 0 }: Counted): void {
    const key = JSON.stringify([sender, to]);
    const known = this.#byReceiver.get(key);
    if (!known && this.#byReceiver.size >= this.#most && to !== OTHERS) {
      this.add({ for: sender, to: OTHERS, count, bytes });
      return;
    }
    const former = known ?? { count: 0, bytes: 0 };
    this.#byReceiver.set(key, { for: sender, to, count: former.count + count, bytes: former.bytes + bytes });
  }

  all(): readonly DepartureSum[] {
    return [...this.#byReceiver.values()];
  }
}
