/** The alarms and reminders of the device: kept by one plugin, shown and ended by any. */
import { serviceRef } from '../contract/service-ref.ts';

export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type Weekday = (typeof WEEKDAYS)[number];
export type AlarmKind = 'alarm' | 'reminder';

export interface Alarm {
  readonly id: string;
  readonly kind: AlarmKind;
  /** Time on the wall, `07:00`; absent: it was set by a length. */
  readonly time?: string;
  /** It repeats on these; absent: it rings once. */
  readonly days?: readonly Weekday[];
  readonly text?: string;
  readonly on: boolean;
  /** Milliseconds since the Unix epoch of its next ringing; absent while it is off. */
  readonly next?: number;
  /** It was put off, and `next` is the end of that. */
  readonly snoozed?: true;
}

/** `why`: the device was off or its clock was set, or there was no answer. */
export interface MissedAlarm {
  readonly id: string;
  readonly kind: AlarmKind;
  readonly at: number;
  readonly text?: string;
  readonly why: 'off' | 'unanswered';
}

export interface RingingAlarm {
  readonly id: string;
  readonly kind: AlarmKind;
  /** Milliseconds since the Unix epoch at which it began. */
  readonly at: number;
  readonly text?: string;
}

export interface AlarmsState {
  /** Soonest first; those that are off last. */
  readonly alarms: readonly Alarm[];
  /** The first that rang first. */
  readonly ringing: readonly RingingAlarm[];
  /** Newest first, at most ten. */
  readonly missed: readonly MissedAlarm[];
  /** Zone of the times: `Europe/Berlin`. */
  readonly zone: string;
}

/** Either `time` or `seconds`. */
export interface AlarmRequest {
  /** An alarm by default; a reminder where there is a text. */
  readonly kind?: AlarmKind;
  readonly time?: string;
  /** `2026-11-30`; absent: the next day that has the time before it. */
  readonly date?: string;
  readonly days?: readonly Weekday[];
  readonly seconds?: number;
  readonly text?: string;
}

export interface AlarmChange {
  readonly time?: string;
  /** Empty: it rings once. */
  readonly days?: readonly Weekday[];
  /** Empty: none. */
  readonly text?: string;
  readonly on?: boolean;
}

/** Provided by plugin `alarms`. An alarm outlives its plugin and the Core. */
export interface Alarms {
  state(): Promise<AlarmsState>;
  /** `kept`: it survives a loss of power. Rejects with QUEUE_FULL, PARAMS_INVALID. */
  set(request: AlarmRequest): Promise<Alarm & { readonly kept: boolean }>;
  /** Rejects with PARAMS_INVALID: there is none of this id, or it has no such time. */
  change(id: string, change: AlarmChange): Promise<Alarm & { readonly kept: boolean }>;
  /** False where there is none of this id. One that rings ends, too. */
  cancel(id: string): Promise<boolean>;
  /** Puts off those that ring, by so many seconds or by those of the device. Resolves with how many. */
  snooze(seconds?: number): Promise<{ readonly snoozed: number; readonly seconds: number }>;
  /** Ends those that ring. Resolves with how many. */
  silence(): Promise<number>;
  /** Called with the new state after each change. */
  onChange(listener: (state: AlarmsState) => void): Disposable;
}

export const alarms = serviceRef<Alarms>('alarms', '1.0.0', 'powerful', 'sets and silences alarms');
