import { redact } from '@device-core/plugin-api/inside/redact';
import { isObject } from '@device-core/plugin-api/inside/schema-reader';

export const LEVELS = ['debug', 'info', 'warn', 'error', 'fatal'] as const;
export type Level = (typeof LEVELS)[number];

/** One line of a log. */
export interface LogEntry {
  /** Milliseconds since the Unix epoch; what an app printed has none. */
  readonly ts?: number;
  readonly level: Level;
  readonly plugin?: string;
  readonly app?: string;
  readonly message: string;
  /** Other members of the line. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** Most characters of a line in an answer; a stack trace fits. */
const MESSAGE = 8 << 10;
const FIELDS = 32 << 10;
/** pino's numbers, `trace` among `debug`. */
const NUMBERS: Readonly<Record<number, Level>> = {
  10: 'debug',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
};

/**
 * Reads a line as the Core, or log.write of an app, wrote it: JSON. Anything else is text that an app printed. Secrets
 * were hidden when the Core wrote the line; what an app prints passes the same rule here.
 */
export function readEntry(line: string, app?: string): LogEntry {
  const said = app === undefined ? {} : { app };
  const { level, time, msg, plugin, app: about, ...others } = parse(line) ?? { level: 'info', msg: line };
  // An app's members stand below a separate one, so that they cannot pass for the Core's.
  const rest =
    app !== undefined && isObject(others.fields) && Object.keys(others).length === 1 ? others.fields : others;
  const name = typeof level === 'number' ? NUMBERS[level] : LEVELS.find((one) => one === level);
  const fields = app === undefined ? rest : (redact(rest) as typeof rest);
  return {
    ...(typeof time === 'number' ? { ts: time } : {}),
    level: name ?? 'info',
    ...(typeof plugin === 'string' ? { plugin } : {}),
    ...(typeof about === 'string' ? { app: about } : {}),
    ...said,
    message: String(redact(clip(typeof msg === 'string' ? msg : '', MESSAGE))),
    ...(Object.keys(fields).length === 0
      ? {}
      : { fields: JSON.stringify(fields).length > FIELDS ? { clipped: true } : fields }),
  };
}

function parse(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined; // an app may print what only looks like JSON, and a power cut may end a line in its middle
  }
}

function clip(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}...` : text;
}
