import { LEVELS, type Level, type LogEntry } from './entry.ts';

/** Which entries are wanted; what is absent restricts nothing. */
export interface LogFilter {
  readonly plugin?: string;
  /** The least one. */
  readonly level?: Level;
  /** Milliseconds since the Unix epoch. */
  readonly since?: number;
}

export function matches(entry: LogEntry, { plugin, level, since }: LogFilter): boolean {
  if (plugin !== undefined && entry.plugin !== plugin) return false;
  if (level !== undefined && LEVELS.indexOf(entry.level) < LEVELS.indexOf(level)) return false;
  return since === undefined || entry.ts === undefined || entry.ts >= since;
}
