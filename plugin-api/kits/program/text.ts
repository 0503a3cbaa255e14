import { escapeUnseen } from '../characters.ts';

/** A value in a cell: strings as they are, all else as JSON; control characters and marks of direction never reach the terminal. */
export function cell(value: unknown): string {
  if (value === undefined || value === null) return value === null ? 'null' : '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return escapeUnseen(text);
}

/** Words of somebody else, in quotation marks that they cannot close: one line, and none of it reads as ours. */
export function quoted(text: string): string {
  return `"${cell(text.replaceAll('\\', '\\\\').replaceAll('"', '\\"'))}"`;
}

/** Milliseconds as a person says them: `90 s`, `15 min`. */
export function duration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} days`;
}

/** Local time of day with milliseconds, of milliseconds since the Unix epoch. */
export function timeOf(ts: number): string {
  const date = new Date(ts);
  const two = (value: number) => String(value).padStart(2, '0');
  const ms = String(date.getMilliseconds()).padStart(3, '0');
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${ms}`;
}
