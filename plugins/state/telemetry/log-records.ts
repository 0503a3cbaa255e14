/** Lines of the log that may leave: finished and redacted, few, cut, and without what a plugin added beside its message. */
import { type ConsentLevel, covers } from '@device-core/plugin-api/inside/services/telemetry';
import type { LogRecord } from './otlp.ts';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'fatal'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** pino's number, the severity of OpenTelemetry, and the consent that a line of it needs. */
const SEVERITIES: Readonly<Record<LogLevel, readonly [number, number, Exclude<ConsentLevel, 'off'>]>> = {
  debug: [20, 5, 'full'],
  info: [30, 9, 'full'],
  warn: [40, 13, 'usage'],
  error: [50, 17, 'crash'],
  fatal: [60, 21, 'crash'],
};
/** Plugins whose lines are skipped: errors about sending would be sent and loop. */
const NEVER: ReadonlySet<unknown> = new Set(['telemetry', 'outbox']);

const MOST_RECORDS = 200;
const MOST_CHARACTERS = 128 << 10;
const LONGEST_MESSAGE = 2_000;
const LONGEST_STACK = 4_000;

export class LogRecords {
  readonly #least: LogLevel;
  #records: LogRecord[] = [];
  #characters = 0;
  #left = 0;

  /** Lines below level `least` never leave, with any consent. */
  constructor(least: LogLevel) {
    this.#least = least;
  }

  /** True for the first line that waits. Called for every line of the log. */
  take(line: string, consent: ConsentLevel): boolean {
    const level = levelOf(line);
    if (level === undefined || LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(this.#least)) return false;
    if (!covers(consent, SEVERITIES[level][2])) return false;
    if (this.#records.length >= MOST_RECORDS || this.#characters >= MOST_CHARACTERS) {
      this.#left++;
      return false;
    }
    const record = read(line, level, consent);
    if (!record) return false;
    this.#characters += record.body.length + Object.values(record.attributes).join('').length;
    return this.#records.push(record) === 1;
  }

  get waiting(): readonly LogRecord[] {
    if (this.#left === 0) return this.#records;
    const at = this.#records.at(-1)?.at ?? 0;
    return [...this.#records, lossRecord(this.#left, at)];
  }

  clear(): void {
    this.#records = [];
    this.#characters = 0;
    this.#left = 0;
  }
}

/** In the place of lines that were dropped. */
export function lossRecord(lost: number, at: number): LogRecord {
  const [, severity] = SEVERITIES.warn;
  return {
    at,
    severity,
    text: 'WARN',
    body: `${lost} lines were left out`,
    attributes: { 'device.plugin': 'telemetry' },
  };
}

/** The Core writes the level first: lines that do not matter cost no parser. */
function levelOf(line: string): LogLevel | undefined {
  const number = /^\{"level":(\d\d)[,}]/.exec(line)?.[1];
  return number === undefined ? undefined : LOG_LEVELS.find((level) => SEVERITIES[level][0] === Number(number));
}

function read(line: string, level: LogLevel, consent: ConsentLevel): LogRecord | undefined {
  let found: Readonly<Record<string, unknown>>;
  try {
    found = JSON.parse(line);
  } catch {
    return undefined; // no line of ours: it stays in the log
  }
  const { time, msg, plugin, app, from, code, err, trace } = found;
  // An app's output is private: it needs the owner's widest consent.
  if (NEVER.has(plugin) || (from !== undefined && consent !== 'full')) return undefined;
  const error = (typeof err === 'object' && err !== null ? err : {}) as Readonly<Record<string, unknown>>;
  const attributes = {
    ...text('device.plugin', plugin, 64),
    ...text('device.app', app, 128),
    ...text('error.type', code ?? error.code, 64),
    ...text('exception.type', error.type ?? error.name, 128),
    ...text('exception.message', error.message, LONGEST_MESSAGE),
    ...text('exception.stacktrace', error.stack, LONGEST_STACK),
  };
  const [, severity] = SEVERITIES[level];
  return {
    at: typeof time === 'number' ? time : 0,
    severity,
    text: level.toUpperCase(),
    attributes,
    body: cut(typeof msg === 'string' ? msg : '', LONGEST_MESSAGE),
    ...traced(trace),
  };
}

/** `trace` in a line is the id, or a `traceparent`. */
function traced(trace: unknown): { readonly traceId?: string; readonly spanId?: string } {
  if (typeof trace !== 'string') return {};
  const [, traceId, spanId] =
    /^(?:[0-9a-f]{2}-)?([0-9a-f]{32})(?:-([0-9a-f]{16})(?:-[0-9a-f]{2})?)?$/.exec(trace) ?? [];
  return { ...(traceId && { traceId }), ...(spanId && { spanId }) };
}

const text = (name: string, value: unknown, most: number) =>
  typeof value === 'string' && value !== '' ? { [name]: cut(value, most) } : {};
const cut = (value: string, most: number) => value.slice(0, most).toWellFormed();
