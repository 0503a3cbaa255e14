import type { DepartureSum } from '@device-core/plugin-api/services/ledger';

type Counted = Pick<DepartureSum, 'for' | 'to'> & { readonly count?: number; readonly bytes?: number };

/** Where the rest goes when too many receivers are known. */
const OTHERS = '(others)';

/** How often and how much went to whom. */
export class Sums {
  readonly #most: number;
  readonly #byReceiver = new Map<string, DepartureSum>();

  /** So many receivers are told apart; what goes to more is summed up for each sender. */
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
