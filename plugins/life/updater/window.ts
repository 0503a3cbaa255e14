/** Hours in which updates are installed, on the clock of the place where the device is. Pure. */
export const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;

export interface UpdateWindow {
  /** Days on which it begins; every day if absent. */
  readonly days?: readonly (typeof DAYS)[number][];
  /** `22:00`; a window that ends before it begins goes over midnight. */
  readonly from: string;
  readonly to: string;
}

/** True within one of them. `zone` is a name of the time zone database; that of the process where it is absent or unknown. */
export function openWindow(windows: readonly UpdateWindow[], now: number, zone?: string): boolean {
  const { day, minute } = localTime(now, zone);
  return windows.some(({ days = DAYS, from, to }) => {
    const [begin, end] = [minutesOf(from), minutesOf(to)];
    const begins = (back: number) => days.includes(DAYS[(day - back + 7) % 7] ?? 'sun');
    if (begin < end) return begins(0) && minute >= begin && minute < end;
    return (begins(0) && minute >= begin) || (begins(1) && minute < end);
  });
}

const minutesOf = (text: string): number => Number(text.slice(0, 2)) * 60 + Number(text.slice(3, 5));

function localTime(now: number, zone: string | undefined): { readonly day: number; readonly minute: number } {
  const parts = Object.fromEntries(
    formatOf(zone)
      .formatToParts(now)
      .map(({ type, value }) => [type, value]),
  );
  const day = DAYS.indexOf(String(parts.weekday).toLowerCase().slice(0, 3) as (typeof DAYS)[number]);
  return { day, minute: (Number(parts.hour) % 24) * 60 + Number(parts.minute) };
}

function formatOf(zone: string | undefined): Intl.DateTimeFormat {
  const form = { weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
  try {
    return new Intl.DateTimeFormat('en-US', zone === undefined ? form : { ...form, timeZone: zone });
  } catch {
    return new Intl.DateTimeFormat('en-US', form); // a zone that this Node does not know
  }
}
