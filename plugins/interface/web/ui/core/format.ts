/** Numbers and times as the reader writes them. */
import { locale } from './text.ts';

export const numberText = (value: number, digits = 1): string =>
  new Intl.NumberFormat(locale.value, { maximumFractionDigits: digits }).format(value);

export const percentText = (share: number, digits = 1): string =>
  new Intl.NumberFormat(locale.value, { style: 'percent', maximumFractionDigits: digits }).format(share);

const UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte'] as const;
export function bytesText(bytes: number): string {
  const step = bytes < 1000 ? 0 : Math.min(3, Math.floor(Math.log10(bytes) / 3));
  return new Intl.NumberFormat(locale.value, {
    style: 'unit',
    unit: UNITS[step]!,
    unitDisplay: 'short',
    maximumFractionDigits: step === 0 ? 0 : 1,
  } as Intl.NumberFormatOptions).format(bytes / 1000 ** step);
}

/** `12 ms`, `3.4 s`, `5 min`. */
export function durationText(ms: number): string {
  const [value, unit] =
    ms < 1000
      ? ([ms, 'millisecond'] as const)
      : ms < 60_000
        ? ([ms / 1000, 'second'] as const)
        : ms < 3_600_000
          ? ([ms / 60_000, 'minute'] as const)
          : ([ms / 3_600_000, 'hour'] as const);
  return new Intl.NumberFormat(locale.value, {
    style: 'unit',
    unit,
    unitDisplay: 'short',
    maximumFractionDigits: value < 10 ? 1 : 0,
  } as Intl.NumberFormatOptions).format(value);
}

const DAY = { day: '2-digit', month: 'short' } as const;
const CLOCK = { hour: '2-digit', minute: '2-digit' } as const;
const stamp = (at: number, options: Intl.DateTimeFormatOptions): string =>
  new Intl.DateTimeFormat(locale.value, options).format(at);
/** The day is said where it is another than today. */
const dayOf = (at: number) => (new Date().toDateString() === new Date(at).toDateString() ? {} : DAY);

/** To the second. */
export const timeText = (at: number): string => stamp(at, { ...dayOf(at), ...CLOCK, second: '2-digit' });

export const whenText = (at: number): string => stamp(at, { ...dayOf(at), ...CLOCK });

const ISO = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
/** A sentence of the Core, with its times as the reader writes them: always with the day, as it may say "on". */
export const datedText = (text: string): string =>
  text.replace(ISO, (iso) => stamp(Date.parse(iso), { ...DAY, ...CLOCK }));

/** `3 minutes ago`. */
export function agoText(at: number, now = Date.now()): string {
  const s = Math.round((at - now) / 1000);
  const format = new Intl.RelativeTimeFormat(locale.value, { numeric: 'auto' });
  const far = Math.abs(s);
  if (far < 60) return format.format(s, 'second');
  if (far < 3600) return format.format(Math.round(s / 60), 'minute');
  if (far < 86_400) return format.format(Math.round(s / 3600), 'hour');
  return format.format(Math.round(s / 86_400), 'day');
}
