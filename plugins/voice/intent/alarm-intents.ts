/** Alarms by what people say: which time a sentence means, and what is answered. */
import { CoreError, maybe, type Scope } from '@device-core/plugin-api';
import {
  type Alarm,
  type AlarmKind,
  type Alarms,
  WEEKDAYS,
  type Weekday,
} from '@device-core/plugin-api/services/alarms';
import type { IntentAnswer, IntentRun } from '@device-core/plugin-api/services/intents';
import type { Moment, SaidAlarm } from './alarm-texts.ts';
import type { DeviceIntents } from './device-intents.ts';
import type { DeviceTexts } from './device-texts.ts';
import { secondsOf } from './said-length.ts';

type Slots = IntentRun['slots'];

const DAY = 1_440;
const DAY_MS = 24 * 3_600_000;
const MOST_SAID = 5;

/** A time of the day that was said: its minutes, and whether the half of the day is known. */
export interface SaidTime {
  readonly minutes: number;
  readonly exact: boolean;
}

export function timeOf(slots: Slots): SaidTime {
  if (slots.named !== undefined) return { minutes: Number(slots.named), exact: true };
  const hour = Number(slots.hour);
  const after = Number(slots.minute ?? slots.past ?? 0) - Number(slots.to ?? 0);
  const { part } = slots;
  const late = slots.day === 'tonight' || part === 'pm' || (part === 'night' && hour >= 6 && hour < 12);
  const exact = part !== undefined || slots.day === 'tonight' || hour === 0 || hour > 12;
  if (hour > 12 || !exact) return { minutes: (hour * 60 + after + DAY) % DAY, exact };
  const shown = ((hour % 12) * 60 + after + (late ? 720 : 0) + DAY) % DAY;
  return { minutes: shown, exact };
}

/** Today on the wall as if it hung in Greenwich. */
function wallOf(now: number, zone: string): Date {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' });
  return new Date(`${format.format(now).replace(' ', 'T')}Z`);
}

const weekdayOf = (wall: Date): Weekday => WEEKDAYS[(wall.getUTCDay() + 6) % 7]!;
const minutesOf = (wall: Date): number => wall.getUTCHours() * 60 + wall.getUTCMinutes();
const clockOf = (minutes: number): string =>
  [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, '0')).join(':');

/** The nearer half of the day, where the sentence leaves both open. */
function halves({ minutes, exact }: SaidTime): readonly [early: number, late: number] {
  return exact ? [minutes, minutes] : [minutes % 720, (minutes % 720) + 720];
}

export interface Said {
  readonly time: string;
  readonly date?: string;
  readonly days?: readonly Weekday[];
}

/**
 * A time without its half of the day: "wake me" and alarms that repeat mean the morning, a reminder of a day to come
 * the waking hours, all else the next of both. Twelve is noon then.
 */
export function requestOf(slots: Slots, kind: AlarmKind | 'wake', now: number, zone: string): Said {
  const said = timeOf(slots);
  const [early, late] = halves(said);
  const noon = early < 60 && !said.exact;
  const morning = noon ? late : early;
  if (slots.days !== undefined) return { time: clockOf(morning), days: daysOf(String(slots.days)) };
  const wall = wallOf(now, zone);
  const left = (minutes: number) => (minutes - minutesOf(wall) + DAY - 1) % DAY;
  const day = slots.day === 'tonight' ? 'today' : slots.day;
  if (day === undefined) {
    const soonest = left(early) <= left(late) ? early : late;
    return { time: clockOf(kind === 'wake' ? morning : soonest) };
  }
  const waking = kind === 'reminder' && early < 420 ? late : morning;
  const today = early > minutesOf(wall) && kind !== 'reminder' ? morning : late;
  let ahead =
    day === 'today'
      ? 0
      : day === 'tomorrow'
        ? 1
        : (WEEKDAYS.indexOf(day as Weekday) - WEEKDAYS.indexOf(weekdayOf(wall)) + 7) % 7;
  if (day !== 'today' && ahead === 0 && waking <= minutesOf(wall)) ahead = 7;
  const date = new Date(wall.getTime() + ahead * DAY_MS).toISOString().slice(0, 10);
  return { time: clockOf(day === 'today' ? today : waking), date };
}

function daysOf(days: string): readonly Weekday[] {
  if (days === 'daily') return WEEKDAYS;
  if (days === 'weekdays') return WEEKDAYS.slice(0, 5);
  if (days === 'weekends') return WEEKDAYS.slice(5);
  return [days as Weekday];
}

function momentOf({ next, time, days }: Alarm, now: number, zone: string): Moment {
  const wall = wallOf(next ?? now, zone);
  const [hour = 0, minute = 0] = (days && time ? time : clockOf(minutesOf(wall))).split(':').map(Number);
  if (days) return { hour, minute, days };
  const [then, today] = [wall, wallOf(now, zone)].map((one) => Math.floor(one.getTime() / DAY_MS));
  const ahead = then! - today!;
  const day = ahead === 0 ? 'today' : ahead === 1 ? 'tomorrow' : ahead < 7 ? weekdayOf(wall) : undefined;
  return { hour, minute, ...maybe({ day }) };
}

export function addAlarms(device: DeviceIntents, scope: Scope, alarms: Alarms): void {
  const now = () => scope.clock.now();
  const saidOf = (alarm: Alarm, zone: string): SaidAlarm => ({
    kind: alarm.kind,
    moment: momentOf(alarm, now(), zone),
    text: alarm.text,
  });
  const set =
    (kind: AlarmKind | 'wake') =>
    async ({ slots }: IntentRun, { say: { alarms: say } }: DeviceTexts): Promise<IntentAnswer> => {
      const { zone, alarms: known } = await alarms.state();
      // "d'arroser" is one word.
      const text = slots.what === undefined ? undefined : String(slots.what).replace(/^d'(?=\S)/, '');
      const common = { kind: kind === 'wake' ? 'alarm' : kind, ...maybe({ text }) } as const;
      const seconds = secondsOf(slots);
      try {
        const { kept, ...alarm } = await alarms.set(
          seconds > 0 ? { ...common, seconds } : { ...common, ...requestOf(slots, kind, now(), zone) },
        );
        const words = seconds > 0 ? say.setIn(alarm.kind, seconds) : say.set(saidOf(alarm, zone));
        return { say: words, result: { id: alarm.id, next: alarm.next, ...maybe({ kept: kept ? undefined : kept }) } };
      } catch (error) {
        if (!(error instanceof CoreError)) throw error;
        if (error.code === 'QUEUE_FULL') return { say: say.full(known.length) };
        if (error.code === 'PARAMS_INVALID') return { say: say.passed() };
        throw error;
      }
    };
  device.add(scope, {
    wake: set('wake'),
    'alarm-set': set('alarm'),
    'reminder-set': set('reminder'),
    'alarm-drop': async ({ slots }, texts) =>
      (await cancelAlarms(alarms, slots, texts, now())) ?? {
        say: texts.say.alarms.cancelled(0),
        result: { cancelled: 0 },
      },
    'alarm-list': async (_, { say }) => {
      const { alarms: all, zone } = await alarms.state();
      const on = all.filter(({ next }) => next !== undefined);
      const said = on.slice(0, MOST_SAID).map((alarm) => saidOf(alarm, zone));
      return { say: say.alarms.list(said, on.length - said.length), result: { alarms: on.length } };
    },
    snooze: async ({ slots }, { say }) => {
      const asked = secondsOf(slots);
      const { snoozed, seconds } = await alarms.snooze(asked > 0 ? asked : undefined);
      return { say: snoozed === 0 ? say.alarms.silent() : say.alarms.snoozed(seconds), result: { snoozed } };
    },
  });
}

/** "Cancel my alarm": what rings is silenced, one is cancelled, of several the person says which. */
export async function cancelAlarms(
  alarms: Alarms,
  slots: Slots,
  { say }: DeviceTexts,
  now: number,
): Promise<IntentAnswer | undefined> {
  const { alarms: all, zone } = await alarms.state();
  const mine = all.filter(({ kind }) => kind === slots.kind);
  if (mine.length === 0) return undefined;
  const timed = slots.hour !== undefined || slots.named !== undefined;
  const times = timed ? halves(timeOf(slots)).map(clockOf) : [];
  const meant = timed ? mine.filter((alarm) => times.includes(shownTime(alarm, now, zone))) : mine;
  if (meant.length > 1 && slots.all === undefined) {
    const said = meant
      .slice(0, MOST_SAID)
      .map((alarm) => ({ kind: alarm.kind, moment: momentOf(alarm, now, zone), text: alarm.text }));
    return { say: say.alarms.which(said), followUp: true };
  }
  for (const { id } of meant) await alarms.cancel(id);
  return { say: say.alarms.cancelled(meant.length), result: { cancelled: meant.length } };
}

function shownTime(alarm: Alarm, now: number, zone: string): string {
  return alarm.time ?? clockOf(minutesOf(wallOf(alarm.next ?? now, zone)));
}
