import { redact, redactText } from '@device-core/plugin-api/inside/redact';
import { StreamRedaction } from '@device-core/plugin-api/inside/redact-stream';
import type { OutputLine } from '@device-core/plugin-api/inside/services/app-supervisor';
import { levelOf } from '../shared/output-level.ts';

/** Members of a line of `journalctl -o json` that are read. */
export const FIELDS = ['MESSAGE', 'PRIORITY', '_SYSTEMD_UNIT', '_SYSTEMD_INVOCATION_ID', '_TRANSPORT'] as const;

export interface JournalLine {
  readonly line: OutputLine;
  /**
   * Which start of a unit wrote it; empty for a line of its owner, undefined where the journal could not tell: the
   * program had ended before it looked.
   */
  readonly invocation: string | undefined;
}

/** syslog's numbers. */
const LEVELS = ['error', 'error', 'error', 'error', 'warn', 'info', 'info', 'debug'] as const;

/** Reads the entries of one unit in their order. A secret may have lines in several entries of one start. */
export function journalReader(unit: string): (text: string) => JournalLine | undefined {
  let start: string | undefined;
  let redaction = new StreamRedaction();
  return (text) =>
    journalLine(text, unit, (message, invocation) => {
      if (invocation === '') return redactText(message);
      // Some entries do not know their start.
      if (invocation !== undefined && invocation !== start) {
        if (start !== undefined) redaction = new StreamRedaction();
        start = invocation;
      }
      return redaction.text(message);
    });
}

/** A line that this unit wrote, or that its owner wrote of it; undefined for what is none. */
export function journalLine(
  text: string,
  unit: string,
  hide: (message: string, invocation: string | undefined) => string = redactText,
): JournalLine | undefined {
  const said = objectOf(text);
  const message = textOf(said?.MESSAGE);
  const at = Math.floor(Number(said?.__REALTIME_TIMESTAMP) / 1_000);
  if (said === undefined || message === undefined || !Number.isFinite(at)) return undefined;
  const own = said._SYSTEMD_UNIT === unit;
  const invocation = own ? textOf(said._SYSTEMD_INVOCATION_ID) : '';
  const level = LEVELS[Number(said.PRIORITY)] ?? 'info';
  const {
    level: name,
    msg,
    message: other,
    ...fields
  } = (message.startsWith('{') ? objectOf(message) : undefined) ?? {};
  const inner = typeof msg === 'string' ? msg : other;
  const known = levelOf(name);
  const from = own ? 'stdout' : 'log';
  if (known === undefined || typeof inner !== 'string')
    return {
      line: { at, level, from, text: hide(message, invocation) },
      invocation,
    };
  // Its own time is not believed.
  const { time: _time, ts: _ts, timestamp: _timestamp, ...more } = fields;
  const given = Object.keys(more).length > 0 ? { fields: redact(more) as Readonly<Record<string, unknown>> } : {};
  return {
    line: { at, level: known === 'fatal' ? 'error' : known, from, text: redactText(inner), ...given },
    invocation,
  };
}

/** Bytes that are no text come as a list of numbers. */
function textOf(message: unknown): string | undefined {
  if (typeof message === 'string') return message;
  return Array.isArray(message) ? Buffer.from(message as number[]).toString('utf8') : undefined;
}

function objectOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined; // it only looks like JSON, or the journal was cut off
  }
}
