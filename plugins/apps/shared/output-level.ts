export type OutputLevel = 'debug' | 'info' | 'warn' | 'error' | 'fatal';

/** pino's numbers and the names that loggers use. */
const LEVELS: Readonly<Record<string, OutputLevel>> = {
  '10': 'debug',
  '20': 'debug',
  '30': 'info',
  '40': 'warn',
  '50': 'error',
  '60': 'fatal',
  trace: 'debug',
  debug: 'debug',
  info: 'info',
  notice: 'info',
  warn: 'warn',
  warning: 'warn',
  error: 'error',
  critical: 'fatal',
  fatal: 'fatal',
};

/** Level of a line of JSON by its member `level`; undefined for a word of no logger. */
export function levelOf(said: unknown): OutputLevel | undefined {
  const name = String(said).toLowerCase();
  return Object.hasOwn(LEVELS, name) ? LEVELS[name] : undefined;
}
