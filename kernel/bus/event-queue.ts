/** Queue of one busy subscriber, bounded in events and bytes; a full queue drops by the rule of D8. Pure. */
import type { EventEnvelope, LossReceipt, Priority } from '@device-core/plugin-api';

interface Entry {
  readonly event: EventEnvelope;
  readonly bytes: number;
}

type Counts = Record<Priority, number>;
const HIGH = 2;
export const LEVEL: Readonly<Record<Priority, number>> = { low: 0, normal: 1, high: 2, critical: 3 };

export function noCounts(): Counts {
  return { low: 0, normal: 0, high: 0, critical: 0 };
}

/**
 * While an event does not fit, the lowest class among those queued and itself gives way, its oldest event first; `high`
 * gives those first that a newer event of their topic supersedes, and so keeps the newest per topic for as long as the
 * bounds allow. `critical` never gives way.
 */
export class EventQueue {
  readonly #limit: number;
  readonly #byteLimit: number;
  /** By class, each in order of `seq`. */
  readonly #classes: readonly [Entry[], Entry[], Entry[], Entry[]] = [[], [], [], []];
  /** Newest queued event of class high by topic; what is queued beyond those is superseded. */
  readonly #newestHigh = new Map<string, EventEnvelope>();
  #length = 0;
  #bytes = 0;
  readonly #dropped: Counts;
  #loss: { from: number; to: number; counts: Counts } | undefined;

  /** `dropped` counts every loss as it happens. */
  constructor(limit: number, byteLimit: number, dropped: Counts) {
    this.#limit = limit;
    this.#byteLimit = byteLimit;
    this.#dropped = dropped;
  }

  get half(): boolean {
    return this.#length * 2 >= this.#limit || this.#bytes * 2 >= this.#byteLimit;
  }

  /** False: the event is critical and there is no room for it. Otherwise something, perhaps the event itself, may have been lost. */
  push(event: EventEnvelope, bytes: number): boolean {
    const level = LEVEL[event.priority];
    const possible = this.#limit > 0 && bytes <= this.#byteLimit;
    if (possible && level === HIGH) this.#newestHigh.set(event.topic, event);
    while (!possible || this.#length >= this.#limit || this.#bytes + bytes > this.#byteLimit) {
      if (possible && this.#evict(level)) continue;
      if (level > HIGH) return false;
      this.#forget(event);
      this.#lose(event);
      return true;
    }
    this.#classes[level]!.push({ event, bytes });
    this.#length++;
    this.#bytes += bytes;
    return true;
  }

  /** The oldest event of all classes: priority decides who is lost, not who comes first. */
  shift(): EventEnvelope | undefined {
    let oldest: Entry[] | undefined;
    for (const entries of this.#classes) {
      if (entries.length > 0 && (!oldest || entries[0]!.event.seq < oldest[0]!.event.seq)) oldest = entries;
    }
    return oldest && this.#take(oldest, 0);
  }

  /** Receipt for the events that were lost since the last call. */
  takeLoss(): LossReceipt | undefined {
    const loss = this.#loss;
    this.#loss = undefined;
    return loss;
  }

  /** Gives up everything, `also` included: the last receipt. */
  abandon(also: readonly EventEnvelope[]): LossReceipt | undefined {
    for (let event = this.shift(); event; event = this.shift()) this.#lose(event);
    for (const event of also) this.#lose(event);
    return this.takeLoss();
  }

  /** Makes room by one event of the lowest class up to `level`, which is that of the event on its way in. */
  #evict(level: number): boolean {
    for (let i = 0; i <= Math.min(level, HIGH); i++) {
      const entries = this.#classes[i]!;
      if (entries.length === 0) continue;
      const highs = i < HIGH ? 0 : entries.length + (level === HIGH ? 1 : 0);
      const index =
        highs > this.#newestHigh.size
          ? entries.findIndex(({ event }) => this.#newestHigh.get(event.topic) !== event)
          : 0;
      this.#lose(this.#take(entries, index));
      return true;
    }
    return false;
  }

  #take(entries: Entry[], index: number): EventEnvelope {
    const entry = index === 0 ? entries.shift()! : entries.splice(index, 1)[0]!;
    this.#length--;
    this.#bytes -= entry.bytes;
    this.#forget(entry.event);
    return entry.event;
  }

  #forget(event: EventEnvelope): void {
    if (event.priority === 'high' && this.#newestHigh.get(event.topic) === event) this.#newestHigh.delete(event.topic);
  }

  #lose({ seq, priority }: EventEnvelope): void {
    this.#loss ??= { from: seq, to: seq, counts: noCounts() };
    this.#loss.from = Math.min(this.#loss.from, seq);
    this.#loss.to = Math.max(this.#loss.to, seq);
    this.#loss.counts[priority]++;
    this.#dropped[priority]++;
  }
}
