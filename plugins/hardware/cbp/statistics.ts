/** Counters of the link, in all and over the last ten seconds. */

const WINDOW_S = 10;
const DEGRADED_SHARE = 0.01;
/** Fewer packets than this prove nothing. */
const LEAST_SAMPLE = 64;

interface Bucket {
  second: number;
  transactions: number;
  bad: number;
}

export class Statistics {
  transactions = 0;
  bad = 0;
  retransmissions = 0;
  duplicates = 0;
  resets = 0;
  lastReset: { readonly reason: string; readonly at: number } | undefined;
  readonly #buckets: Bucket[] = [];

  /** One transaction ended at `now` milliseconds; `valid` tells whether it brought a packet. */
  count(valid: boolean, now: number): void {
    const bucket = this.#bucket(now);
    this.transactions++;
    bucket.transactions++;
    if (valid) return;
    this.bad++;
    bucket.bad++;
  }

  reset(reason: string): void {
    this.resets++;
    this.lastReset = { reason, at: Date.now() };
  }

  /** More than 1 % of the packets of the last ten seconds were bad. */
  degraded(now: number): boolean {
    const { transactions, bad } = this.#recent(now);
    return transactions >= LEAST_SAMPLE && bad > transactions * DEGRADED_SHARE;
  }

  summary(now: number): Readonly<Record<string, number>> {
    const { transactions, bad } = this.#recent(now);
    return {
      transactions: this.transactions,
      transactionsPerSecond: transactions / WINDOW_S,
      badPercent: percent(bad, transactions),
      retransmitPercent: percent(this.retransmissions, this.transactions),
      resets: this.resets,
    };
  }

  #bucket(now: number): Bucket {
    const second = Math.floor(now / 1000);
    const last = this.#buckets.at(-1);
    if (last?.second === second) return last;
    const bucket = { second, transactions: 0, bad: 0 };
    this.#buckets.push(bucket);
    while (this.#buckets[0]!.second <= second - WINDOW_S) this.#buckets.shift();
    return bucket;
  }

  #recent(now: number): { readonly transactions: number; readonly bad: number } {
    const from = Math.floor(now / 1000) - WINDOW_S;
    let transactions = 0;
    let bad = 0;
    for (const bucket of this.#buckets) {
      if (bucket.second <= from) continue;
      transactions += bucket.transactions;
      bad += bucket.bad;
    }
    return { transactions, bad };
  }
}

function percent(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.round((part / whole) * 10_000) / 100;
}
