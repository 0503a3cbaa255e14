import { usage } from '@device-core/plugin-api/program';

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of `90s`, `10m`; undefined for what is no length. */
export function milliseconds(text: string): number | undefined {
  const [, amount, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  return amount === undefined ? undefined : Number(amount) * UNITS[unit!]!;
}

/** Throws a usage error. */
export function lengthOf(flag: string, text: string): number {
  const ms = milliseconds(text);
  if (ms === undefined || ms < 1_000) throw usage(`${flag} must be a length such as 90s, 10m or 2h, not "${text}"`);
  return ms;
}

/** Milliseconds since the Unix epoch. Throws a usage error. */
export function moment(text: string): number {
  const ago = milliseconds(text);
  const at = ago === undefined ? Date.parse(text) : Date.now() - ago;
  if (Number.isNaN(at)) throw usage(`--since must be a time or a length such as 10m, not "${text}"`);
  return Math.max(0, at);
}
