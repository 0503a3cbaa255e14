/** Lines of an app's output as entries of its log: with the time of arrival and a level. Pure. */

import { maybe } from '@device-core/plugin-api';
import { redact } from '@device-core/plugin-api/inside/redact';
import type { OutputLine, OutputStream } from '@device-core/plugin-api/inside/services/app-supervisor';
import { levelOf, type OutputLevel } from '../shared/output-level.ts';

export interface OutputEntry {
  readonly level: OutputLevel;
  /** Milliseconds since the Unix epoch: when the line came. */
  readonly time: number;
  readonly msg: string;
  readonly from: Exclude<OutputStream, 'log'>;
  /** Further members of a line of JSON. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/**
 * A line of stdout is `info`, of stderr `warn`. A JSON object with `level` and `msg` or `message` keeps its level; its
 * own time is not believed.
 */
export function entryOf(line: string, from: Exclude<OutputStream, 'log'>, time: number): OutputEntry {
  const plain: OutputEntry = { level: from === 'stdout' ? 'info' : 'warn', time, msg: line, from };
  const said = line.startsWith('{') ? parsed(line) : undefined;
  if (!said) return plain;
  const { level, msg, message, time: _time, ts: _ts, timestamp: _timestamp, ...fields } = said;
  const known = levelOf(level);
  const text = msg ?? message;
  if (known === undefined || typeof text !== 'string') return plain;
  const more = Object.keys(fields).length > 0 ? { fields: redact(fields) as Readonly<Record<string, unknown>> } : {};
  return { level: known, time, msg: text, from, ...more };
}

/** As the rest of the device knows it. */
export function lineOf({ level, time, msg, from, fields }: OutputEntry, run?: string): OutputLine {
  return {
    at: time,
    level: level === 'fatal' ? 'error' : level,
    from,
    text: msg,
    ...maybe({ run, fields }),
  };
}

/** Entries of a log file. Lines that were cut short are left out; the level tells the stream. */
export function linesOf(text: string): readonly OutputLine[] {
  return text.split('\n').flatMap((line) => {
    const said = parsed(line) as Partial<OutputEntry> | undefined;
    if (typeof said?.msg !== 'string' || typeof said.time !== 'number' || said.level === undefined) return [];
    const { level, time, msg, fields } = said;
    const from = level === 'debug' || level === 'info' ? 'stdout' : 'stderr';
    return [lineOf({ level, time, msg, from, ...maybe({ fields }) })];
  });
}

function parsed(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(line) as Readonly<Record<string, unknown>>;
  } catch {
    return undefined; // it only looks like JSON
  }
}
