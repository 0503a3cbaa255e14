import type { EventEnvelope } from '@device-core/plugin-api';

const MAX_TOPICS = 100;
const OTHERS = 'others';

/** Events by topic since the last tally. Topics come from outside, so their number has a bound; the rest is one number. */
export class Tally {
  #counts = new Map<string, number>();

  add({ topic }: EventEnvelope): void {
    const row = this.#counts.has(topic) || this.#counts.size < MAX_TOPICS ? topic : OTHERS;
    this.#counts.set(row, (this.#counts.get(row) ?? 0) + 1);
  }

  /** The counts so far, undefined where there are none; the next tally begins. */
  take(): Readonly<Record<string, number>> | undefined {
    const counts = this.#counts;
    if (counts.size === 0) return undefined;
    this.#counts = new Map();
    return Object.fromEntries(counts);
  }
}
