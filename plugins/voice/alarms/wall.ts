/** Time on the wall of a zone: which moment a date and a time are, and the other way round. */
import { WEEKDAYS, type Weekday } from '@device-core/plugin-api/services/alarms';

export const DAY_MS = 24 * 3_600_000;
const FORMATS = new Map<string, Intl.DateTimeFormat>();
const MOST_FORMATS = 8;

/** Throws RangeError for an unknown zone. */
function formatOf(zone: string): Intl.DateTimeFormat {
  const known = FORMATS.get(zone);
  if (known) return known;
  const number = '2-digit' as const;
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    era: 'short',
    year: 'numeric',
    month: number,
    day: number,
    hour: number,
    minute: number,
    second: number,
  });
  if (FORMATS.size >= MOST_FORMATS) FORMATS.clear();
  FORMATS.set(zone, made);
  return made;
}

/** The time on the wall as if the wall hung in Greenwich: milliseconds, whole seconds. */
export function wallOf(at: number, zone: string): number {
  const parts: Record<string, string> = {};
  for (const { type, value } of formatOf(zone).formatToParts(at)) parts[type] = value;
  const { year, month, day, hour, minute, second, era } = parts;
  const wall = new Date(0);
  // Date.UTC() takes the year 70 for 1970.
  wall.setUTCFullYear(era === 'AD' || era === 'A' ? Number(year) : 1 - Number(year), Number(month) - 1, Number(day));
  wall.setUTCHours(Number(hour), Number(minute), Number(second));
  return wall.getTime();
}

const offsetOf = (at: number, zone: string): number => wallOf(at, zone) - Math.floor(at / 1_000) * 1_000;

export const dateOf = (wall: number): string => new Date(wall).toISOString().slice(0, 10);

export function dayAfter(date: string, days: number): string {
  return dateOf(Date.parse(`${date}T00:00:00Z`) + days * DAY_MS);
}

export function weekdayOf(date: string): Weekday {
  return WEEKDAYS[(new Date(`${date}T00:00:00Z`).getUTCDay() + 6) % 7]!;
}

/** A date of the calendar; the 30th of February is none. */
export function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const at = Date.parse(`${text}T00:00:00Z`);
  return Number.isFinite(at) && dateOf(at) === text;
}

/**
 * The moment of `07:00` on a date. A time that comes twice is its first; one that is left out is the end of the gap,
 * so each date has exactly one moment.
 */
export function momentOf(date: string, time: string, zone: string): number {
  const wall = Date.parse(`${date}T${time}:00Z`);
  const [before, after] = [offsetOf(wall - DAY_MS, zone), offsetOf(wall + DAY_MS, zone)];
  const fits = [wall - before, wall - after].filter((at) => wallOf(at, zone) === wall);
  if (fits.length > 0) return Math.min(...fits);
  // The clock goes from `before` to `after` somewhere between the two readings.
  let [low, high] = [wall - DAY_MS, wall + DAY_MS];
  while (high - low > 1_000) {
    const middle = Math.floor((low + high) / 2_000) * 1_000;
    if (offsetOf(middle, zone) === before) low = middle;
    else high = middle;
  }
  return high;
}

export interface Rhythm {
  readonly time: string;
  /** Absent: any day. */
  readonly days?: readonly Weekday[];
}

/** First date after `former` whose moment is after `now`. Eight days have every weekday, one more each way the gaps of a zone. */
export function nextDate({ time, days }: Rhythm, now: number, zone: string, former = ''): string {
  const today = dateOf(wallOf(now, zone));
  let date = dayAfter(today, -1);
  for (let tries = 0; tries < 16; tries++, date = dayAfter(date, 1)) {
    if (date <= former || (days && !days.includes(weekdayOf(date)))) continue;
    if (momentOf(date, time, zone) > now) return date;
  }
  return date;
}

/** Last date from `first` on whose moment has come. */
export function latestDate({ time, days }: Rhythm, first: string, now: number, zone: string): string {
  let date = dayAfter(dateOf(wallOf(now, zone)), 1);
  for (let tries = 0; tries < 10 && date > first; tries++, date = dayAfter(date, -1)) {
    if (days && !days.includes(weekdayOf(date))) continue;
    if (momentOf(date, time, zone) <= now) return date;
  }
  return first;
}
