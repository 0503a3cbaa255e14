import { createHistogram } from 'node:perf_hooks';

/** Microseconds with two digits: 20 KiB each. */
const RANGE = { lowest: 1, highest: 3_600_000_000, figures: 2 } as const;

/** Delays of this window and of the one before. */
export class Delays {
  #recent = createHistogram(RANGE);
  #former = createHistogram(RANGE);

  record(ms: number): void {
    this.#recent.record(Math.max(1, Math.round(ms * 1000)));
  }

  /** A new window begins. */
  rotate(): void {
    [this.#former, this.#recent] = [this.#recent, this.#former];
    this.#recent.reset();
  }

  /** Delays of both windows in milliseconds; 0 if there was none. */
  told(): { readonly p50Ms: number; readonly p99Ms: number; readonly maxMs: number } {
    const both = createHistogram(RANGE);
    both.add(this.#former);
    both.add(this.#recent);
    const none = both.count === 0;
    const ms = (micros: number) => (none ? 0 : Math.round(micros / 10) / 100);
    return { p50Ms: ms(both.percentile(50)), p99Ms: ms(both.percentile(99)), maxMs: ms(both.max) };
  }
}
