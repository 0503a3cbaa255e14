/** One alarm as it is kept: by a time on the wall, or by a length. */
import { CoreError, maybe } from '@device-core/plugin-api';
import {
  type Alarm,
  type AlarmKind,
  type AlarmRequest,
  type MissedAlarm,
  WEEKDAYS,
  type Weekday,
} from '@device-core/plugin-api/services/alarms';
import { isDate, momentOf, nextDate } from './wall.ts';

/** A length that began: it is over at this time of the epoch, where no clock was set meanwhile. */
export interface Wait {
  readonly at: number;
  readonly seconds: number;
}

export interface Entry {
  readonly id: string;
  readonly kind: AlarmKind;
  readonly on: boolean;
  readonly text?: string | undefined;
  readonly time?: string | undefined;
  readonly days?: readonly Weekday[] | undefined;
  /** Date of its next ringing. */
  readonly date?: string | undefined;
  /** Date of its last one: a time rings once a date, whatever becomes of clock and zone. */
  readonly rang?: string | undefined;
  readonly wait?: Wait | undefined;
  readonly snoozed?: Wait | undefined;
  /** It rings since then. */
  readonly since?: number | undefined;
}

export interface Book {
  readonly alarms: readonly Entry[];
  /** Newest first. */
  readonly missed: readonly MissedAlarm[];
}

export const LONGEST_SECONDS = 7 * 24 * 3_600;
export const MOST_TEXT = 200;
const TIME = /^([01]\d|2[0-3]):[0-5]\d$/;

const wrong = (where: string, reason: string) => new CoreError('PARAMS_INVALID', { where, reason });

/** In the order of the week, each once; undefined for none. */
export function daysOf(days: readonly Weekday[] | undefined): readonly Weekday[] | undefined {
  const found = WEEKDAYS.filter((day) => days?.includes(day));
  return found.length === 0 ? undefined : found;
}

/** Throws PARAMS_INVALID. */
export function checkTime(time: string): string {
  if (!TIME.test(time)) throw wrong('time', `${JSON.stringify(time.slice(0, 20))} is no time of a day, as 07:00 is`);
  return time;
}

/** Throws PARAMS_INVALID. */
export function textOf(text: string | undefined): string | undefined {
  const plain = text?.replaceAll(/\s+/g, ' ').trim() ?? '';
  if (plain.length > MOST_TEXT) throw wrong('text', `it has more than ${MOST_TEXT} characters`);
  return plain === '' ? undefined : plain;
}

/** Throws PARAMS_INVALID: neither time nor length, or a date that has passed. */
export function entryOf(request: AlarmRequest, id: string, now: number, zone: string): Entry {
  const { time, date, seconds } = request;
  const text = textOf(request.text);
  const kind = request.kind ?? (text === undefined ? 'alarm' : 'reminder');
  const days = daysOf(request.days);
  const entry = { id, kind, on: true, text };
  if ((time === undefined) === (seconds === undefined)) throw wrong('time', 'either a time or a length is needed');
  if (seconds !== undefined) {
    if (days || date !== undefined) throw wrong('seconds', 'a length has neither days nor a date');
    if (!(seconds >= 1 && seconds <= LONGEST_SECONDS))
      throw wrong('seconds', `a length is from 1 second to ${LONGEST_SECONDS}`);
    return { ...entry, wait: { at: now + seconds * 1_000, seconds } };
  }
  checkTime(time!);
  if (date === undefined)
    return { ...entry, time, days, date: nextDate({ time: time!, ...maybe({ days }) }, now, zone) };
  if (days) throw wrong('date', 'an alarm that repeats has no date');
  if (!isDate(date)) throw wrong('date', `${JSON.stringify(date.slice(0, 20))} is no date, as 2026-11-30 is`);
  if (momentOf(date, time!, zone) <= now) throw wrong('date', `${date} ${time} has passed`);
  return { ...entry, time, date };
}

/** An entry of a file, or undefined where it makes no sense. */
export function soundEntry(found: unknown, now: number): Entry | undefined {
  const entry = found as Entry | null;
  if (typeof entry !== 'object' || entry === null || typeof entry.id !== 'string' || entry.id === '') return undefined;
  const { time, date, days } = entry;
  const text = typeof entry.text === 'string' ? entry.text.slice(0, MOST_TEXT) : undefined;
  const [wait, snoozed] = [soundWait(entry.wait, now), soundWait(entry.snoozed, now)];
  const since = Number.isFinite(entry.since) ? entry.since : undefined;
  const common = {
    id: entry.id.slice(0, 64),
    kind: entry.kind === 'reminder' ? ('reminder' as const) : ('alarm' as const),
    on: entry.on !== false,
    text,
    snoozed,
    since,
  };
  if (typeof time === 'string' && TIME.test(time) && typeof date === 'string' && isDate(date)) {
    const rang = typeof entry.rang === 'string' && isDate(entry.rang) ? entry.rang : undefined;
    return { ...common, time, date, days: daysOf(Array.isArray(days) ? days : undefined), rang };
  }
  return wait || snoozed || since !== undefined ? { ...common, wait } : undefined;
}

/** None ends later than its length from now: the clock may have gone wrong meanwhile. */
function soundWait(wait: Wait | undefined, now: number): Wait | undefined {
  if (!wait || !Number.isFinite(wait.at) || !(wait.seconds > 0 && wait.seconds <= LONGEST_SECONDS)) return undefined;
  return { at: Math.min(wait.at, now + wait.seconds * 1_000), seconds: wait.seconds };
}

export function shown({ id, kind, time, days, text, on, snoozed }: Entry, next: number | undefined): Alarm {
  return {
    id,
    kind,
    on,
    ...maybe({ time, days, text, next: next && Math.round(next), snoozed: snoozed && (true as const) }),
  };
}
