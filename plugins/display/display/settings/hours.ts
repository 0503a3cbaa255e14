/** The hours of the night in a time zone, pure. */

export interface NightHours {
  /** `HH:MM`, local. */
  readonly from: string;
  readonly to: string;
}

const DAY = 24 * 60;

export function isNight(now: number, timeZone: string, { from, to }: NightHours): boolean {
  const minute = minuteOf(now, timeZone);
  const [begin, end] = [minutes(from), minutes(to)];
  return begin <= end ? minute >= begin && minute < end : minute >= begin || minute < end;
}

/** Milliseconds until it is the other. Where clocks are set meanwhile it is wrong by as much: who waits looks again. */
export function untilChange(now: number, timeZone: string, { from, to }: NightHours): number {
  const minute = minuteOf(now, timeZone);
  const ahead = [from, to].map((hour) => (minutes(hour) - minute + DAY) % DAY || DAY);
  return Math.min(...ahead) * 60_000 - (now % 60_000);
}

function minuteOf(now: number, timeZone: string): number {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  return minutes(format.format(now));
}

function minutes(hour: string): number {
  const [hours = 0, rest = 0] = hour.split(':').map(Number);
  return hours * 60 + rest;
}
