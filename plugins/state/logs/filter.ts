import { LEVELS, type Level, type LogEntry } from './entry.ts';
import { patternOf } from './pattern.ts';

/** Which entries are wanted; what is absent restricts nothing. */
export interface LogFilter {
  readonly plugin?: string;
  /** The least level. */
  readonly level?: Level;
  /** Milliseconds since the Unix epoch. */
  readonly since?: number;
  /** A text, or an expression between slashes. */
  readonly grep?: string;
}

/** Throws PARAMS_INVALID for an expression that is none. */
export function matcher({ plugin, level, since, grep }: LogFilter): (entry: LogEntry) => boolean {
  const least = level === undefined ? 0 : LEVELS.indexOf(level);
  const found = grep === undefined ? undefined : patternOf(grep);
  return (entry) => {
    if (plugin !== undefined && entry.plugin !== plugin) return false;
    if (LEVELS.indexOf(entry.level) < least) return false;
    if (since !== undefined && entry.ts !== undefined && entry.ts < since) return false;
    return found === undefined || found(shown(entry));
  };
}

/** Text of a line in the terminal. */
function shown({ plugin, app, message, fields }: LogEntry): string {
  return `${plugin ?? app ?? 'core'} ${message}${fields ? ` ${JSON.stringify(fields)}` : ''}`;
}
