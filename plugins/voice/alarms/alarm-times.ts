/** Times of alarms on the wall of one zone, and lengths on a clock that is never set. */
import type { Clock } from '@device-core/plugin-api';
import type { Entry, Wait } from './entry.ts';
import { dateOf, dayAfter, latestDate, momentOf, nextDate, wallOf } from './wall.ts';

export class AlarmTimes {
  zone: string;
  readonly #clock: Clock;
  /** Monotonic time at which a length is over: clocks may be set meanwhile. */
  readonly #dues = new WeakMap<Wait, number>();

  constructor(zone: string, clock: Clock) {
    this.zone = zone;
    this.#clock = clock;
  }

  /** Milliseconds of the epoch, as the clock is now. */
  nextOf({ on, time, days, date, wait, snoozed }: Entry): number | undefined {
    if (!on) return undefined;
    const length = snoozed ?? wait;
    const ends = length && this.#clock.now() + this.#left(length);
    if (time === undefined || date === undefined || (snoozed && !days)) return ends;
    return Math.min(ends ?? Number.POSITIVE_INFINITY, momentOf(date, time, this.zone));
  }

  /** Milliseconds until a length is over. */
  #left(wait: Wait): number {
    const clock = this.#clock;
    const due = this.#dues.get(wait) ?? clock.monotonic() + wait.at - clock.now();
    this.#dues.set(wait, due);
    return due - clock.monotonic();
  }

  /** Milliseconds since it was due; undefined where it is not. `correct` gets an entry with a date that was wrong. */
  lateness(entry: Entry, correct: (entry: Entry) => void): number | undefined {
    const { on, time, days, date, rang, wait, snoozed, since } = entry;
    if (!on) return undefined;
    const length = snoozed ?? wait;
    const left = length && this.#left(length);
    if (left !== undefined && left <= 0) return -left;
    if (time === undefined || date === undefined || (!days && (snoozed || since !== undefined))) return undefined;
    const [now, zone] = [this.#clock.now(), this.zone];
    if (!days) {
      const at = momentOf(date, time, zone);
      return at <= now ? now - at : undefined;
    }
    // The clock may have been set back: a date of a wrong year is not waited for.
    const next = nextDate({ time, days }, now, zone, this.former(rang));
    if (next < date) correct({ ...entry, date: next });
    const [soonest = date] = [next, date].sort();
    if (momentOf(soonest, time, zone) > now) return undefined;
    return now - momentOf(latestDate({ time, days }, soonest, now, zone), time, zone);
  }

  /** The date that rang last, where it can be believed: one far ahead is of a clock that was wrong. */
  former(rang: string | undefined): string | undefined {
    if (rang === undefined) return undefined;
    return rang > dayAfter(dateOf(wallOf(this.#clock.now(), this.zone)), 1) ? undefined : rang;
  }
}
