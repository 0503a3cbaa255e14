/** Bindings in texts: time, date, countdown, elapsed time and progress without an app that ticks. */
import { nearest } from '../kits/nearest.ts';

export interface BindingWorld {
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
  /** BCP 47 */
  readonly locale: string;
  /** IANA */
  readonly timeZone: string;
  readonly progress?: number | undefined;
}

export interface Bound {
  readonly text: string;
  /** Milliseconds since the Unix epoch at which it looks different next; absent: never by itself. */
  readonly next?: number;
}

const BINDING = /\{\{|\{([a-z]+)(?::([^{}]*))?\}/g;
const NAMES = ['time', 'date', 'countdown', 'elapsed', 'progress'] as const;
const TIME_WORDS = /HH|H|hh|h|mm|ss|a/g;
const DATE_WORDS = /EEEE|EEE|MMMM|MMM|MM|M|yyyy|yy|dd|d/g;
const MINUTE = 60_000;

/** Fault of the bindings of a text; undefined for a good one. */
export function bindingProblem(text: string): string | undefined {
  for (const [whole, name, argument] of text.matchAll(BINDING)) {
    if (name === undefined) continue;
    if (!NAMES.some((one) => one === name)) {
      const close = nearest(name, NAMES);
      return `there is no binding ${whole.slice(0, 40)}${close === undefined ? '' : `; did you mean {${close}}?`}; a brace is written {{`;
    }
    if (name === 'countdown' && !/^\d{1,16}$/.test(argument ?? ''))
      return 'a countdown names the milliseconds since the Unix epoch of its end';
    if (name === 'elapsed' && !/^\d{1,16}$/.test(argument ?? ''))
      return 'elapsed names the milliseconds since the Unix epoch of its beginning';
    if ((name === 'time' || name === 'date') && (argument ?? '').length > 64)
      return `the format of ${name} is longer than 64`;
  }
  return undefined;
}

/** The text as it reads now. What is no binding stays as it is. */
export function bind(text: string, world: BindingWorld): Bound {
  if (!text.includes('{')) return { text };
  let next = Number.POSITIVE_INFINITY;
  const filled = text.replace(BINDING, (whole, name: string | undefined, argument: string | undefined) => {
    if (name === undefined) return '{';
    const value = values(name, argument, world);
    if (value === undefined) return whole;
    next = Math.min(next, value.next ?? next);
    return value.text;
  });
  return Number.isFinite(next) ? { text: filled, next } : { text: filled };
}

function values(name: string, argument: string | undefined, world: BindingWorld): Bound | undefined {
  switch (name) {
    case 'time':
      return timeText(argument ?? '', world);
    case 'date':
      return dateText(argument ?? '', world);
    case 'countdown':
      return countdownText(Number(argument), world.now);
    case 'elapsed':
      return elapsedText(Number(argument), world.now);
    case 'progress':
      return { text: formatter(world.locale, { style: 'percent' }).format(world.progress ?? 0) };
    default:
      return undefined;
  }
}

/** `HH:mm`; without a format as the locale writes hours and minutes. */
function timeText(format: string, world: BindingWorld): Bound {
  const step = format.includes('ss') ? 1_000 : MINUTE;
  const next = (Math.floor(world.now / step) + 1) * step;
  if (format === '') {
    return { text: dates(world, { hour: 'numeric', minute: '2-digit' }).format(world.now), next };
  }
  const clock = partsOf(world, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
  const hour = Number(clock.hour);
  const twelve = String(hour % 12 === 0 ? 12 : hour % 12);
  const words: Readonly<Record<string, string>> = {
    HH: pad(hour),
    H: String(hour),
    hh: twelve.padStart(2, '0'),
    h: twelve,
    mm: clock.minute ?? '',
    ss: clock.second ?? '',
    a: partsOf(world, { hour: 'numeric', hour12: true }).dayPeriod ?? '',
  };
  return { text: format.replace(TIME_WORDS, (word) => words[word]!), next };
}

/** `EEEE d MMMM`; without a format as the locale writes weekday, day and month. */
function dateText(format: string, world: BindingWorld): Bound {
  const next = nextDay(world);
  if (format === '')
    return { text: dates(world, { weekday: 'long', day: 'numeric', month: 'long' }).format(world.now), next };
  const numbers = partsOf(world, { day: '2-digit', month: '2-digit', year: 'numeric' });
  const words: Readonly<Record<string, () => string>> = {
    EEEE: () => partsOf(world, { weekday: 'long' }).weekday!,
    EEE: () => partsOf(world, { weekday: 'short' }).weekday!,
    // With the day, for languages that say "of May".
    MMMM: () => partsOf(world, { day: 'numeric', month: 'long' }).month!,
    MMM: () => partsOf(world, { day: 'numeric', month: 'short' }).month!,
    MM: () => numbers.month!,
    M: () => String(Number(numbers.month)),
    yyyy: () => numbers.year!,
    yy: () => numbers.year!.slice(-2),
    dd: () => numbers.day!,
    d: () => String(Number(numbers.day)),
  };
  return { text: format.replace(DATE_WORDS, (word) => words[word]!()), next };
}

/** Shortly after midnight there, or before it: a day may be an hour shorter or longer than it looks, so a far one is looked at again. */
function nextDay(world: BindingWorld): number {
  const clock = partsOf(world, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  const left = (24 * 60 - (Number(clock.hour) * 60 + Number(clock.minute))) * MINUTE;
  const minute = Math.floor(world.now / MINUTE) * MINUTE;
  return minute + (left > 180 * MINUTE ? left - 120 * MINUTE : left);
}

function countdownText(until: number, now: number): Bound {
  const left = until - now;
  if (left <= 0) return { text: '0:00' };
  const seconds = Math.ceil(left / 1_000);
  return { text: figures(seconds), next: until - (seconds - 1) * 1_000 };
}

function elapsedText(since: number, now: number): Bound {
  const seconds = Math.max(0, Math.floor((now - since) / 1_000));
  return { text: figures(seconds), next: since + (seconds + 1) * 1_000 };
}

/** `4:05`, `1:04:05`. */
function figures(seconds: number): string {
  const [hours, minutes, rest] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  return hours > 0 ? `${hours}:${pad(minutes)}:${pad(rest)}` : `${minutes}:${pad(rest)}`;
}

const pad = (value: number): string => String(value).padStart(2, '0');

/** Formatters are dear to make: the few that a device uses are kept. */
const kept = new Map<string, Intl.DateTimeFormat | Intl.NumberFormat>();
const MOST_KEPT = 64;

function keep<T extends Intl.DateTimeFormat | Intl.NumberFormat>(key: string, make: () => T): T {
  let found = kept.get(key) as T | undefined;
  if (found !== undefined) return found;
  if (kept.size === MOST_KEPT) kept.clear();
  found = make();
  kept.set(key, found);
  return found;
}

const formatter = (locale: string, options: Intl.NumberFormatOptions): Intl.NumberFormat =>
  keep(`n ${locale} ${JSON.stringify(options)}`, () => new Intl.NumberFormat(locale, options));

const dates = (world: BindingWorld, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat =>
  keep(
    `d ${world.locale} ${world.timeZone} ${JSON.stringify(options)}`,
    () => new Intl.DateTimeFormat(world.locale, { ...options, timeZone: world.timeZone }),
  );

const partsOf = (world: BindingWorld, options: Intl.DateTimeFormatOptions): Partial<Record<string, string>> =>
  Object.fromEntries(
    dates(world, options)
      .formatToParts(world.now)
      .map(({ type, value }) => [type, value]),
  );
