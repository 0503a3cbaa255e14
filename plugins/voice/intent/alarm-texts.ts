/** Sentences and answers about alarms, in one language. */
import type { AlarmKind, Weekday } from '@device-core/plugin-api/services/alarms';
import type { SlotType, SlotValue } from '@device-core/plugin-api/services/intents';

export type AlarmIntent =
  | 'wake'
  | 'alarm-set'
  | 'reminder-set'
  | 'alarm-list'
  | 'alarm-cancel'
  | 'alarm-drop'
  | 'snooze';

/** A time as it is said: on a day that is named, or on days. */
export interface Moment {
  readonly hour: number;
  readonly minute: number;
  /** Absent: it is more than a week ahead. */
  readonly day?: 'today' | 'tomorrow' | Weekday;
  readonly days?: readonly Weekday[];
}

export interface SaidAlarm {
  readonly kind: AlarmKind;
  readonly moment: Moment;
  readonly text?: string | undefined;
}

/**
 * Slots of a time: `hour` with `minute`, `past` (minutes after it, less than 0: before) or `to` (minutes before it), or
 * `named` in minutes of the day; `part` is am, pm or night; `day` and `days` say when; `what` is open.
 */
export interface AlarmTexts {
  readonly rules: Readonly<Record<string, string>>;
  readonly slots: Readonly<Record<string, SlotType>>;
  readonly intents: Readonly<Record<AlarmIntent, { readonly title: string; readonly sentences: readonly string[] }>>;
  readonly say: {
    set(alarm: SaidAlarm): string;
    setIn(kind: AlarmKind, seconds: number): string;
    passed(): string;
    full(count: number): string;
    list(alarms: readonly SaidAlarm[], more: number): string;
    cancelled(count: number): string;
    /** Several, and none was named. */
    which(alarms: readonly SaidAlarm[]): string;
    snoozed(seconds: number): string;
    silent(): string;
  };
}

/** `[words, value]` as a list of a slot. */
export function values(...pairs: readonly (readonly [said: string, out: SlotValue])[]): SlotType {
  return { kind: 'list', values: pairs.map(([said, out]) => ({ in: said, out })) };
}

/** Minutes below ten as they are typed: `05` is a word for nothing, and five; `00` is the full hour. */
export function typedMinutes(nought: string, full: string): Readonly<Record<string, string>> {
  const minutes = Array.from({ length: 9 }, (_, index) => [`0${index + 1}`, `${nought} ${index + 1}`]);
  return Object.fromEntries([['00', full], ...minutes]);
}

const WORKDAYS = 'mon tue wed thu fri';
const WEEKEND = 'sat sun';

/** Days that have a name together. */
export function daysName<T>(
  days: readonly Weekday[],
  names: { readonly all: T; readonly work: T; readonly end: T },
): T | undefined {
  if (days.length === 7) return names.all;
  const text = days.join(' ');
  return text === WORKDAYS ? names.work : text === WEEKEND ? names.end : undefined;
}
