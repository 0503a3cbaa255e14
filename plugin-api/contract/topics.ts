/** Topics and topic filters of the Event Bus (decisions D8). Pure; the kernel's bus and the events plugin share it. */
import { CoreError } from './errors.ts';

const SEGMENT = /^[A-Za-z0-9_-]+$/;
const MAX_SEGMENTS = 16;
const MAX_LENGTH = 255;

/** Throws TOPIC_INVALID unless `topic` is dotted segments within the limits. */
export function checkTopic(topic: string): void {
  const reason = invalid(topic, (segment) => SEGMENT.test(segment));
  if (reason) throw new CoreError('TOPIC_INVALID', { topic: clip(topic), reason });
}

/**
 * The canonical segments of a filter. `*` stands for one segment, a trailing `**` for one or more, and a trailing `*` right after a segment
 * `event` below `app.` is read as `**`, for `app.<id>.event.*` names a namespace in the specification. Throws FILTER_INVALID.
 */
export function parseFilter(filter: string): readonly string[] {
  const reason = invalid(
    filter,
    (segment, last) => segment === '*' || (segment === '**' && last) || SEGMENT.test(segment),
  );
  if (reason) throw new CoreError('FILTER_INVALID', { filter: clip(filter), reason });
  const segments = filter.split('.');
  if (segments[0] === 'app' && segments.at(-1) === '*' && segments.at(-2) === 'event')
    segments[segments.length - 1] = '**';
  return segments;
}

/** A filter in the one form of all that mean the same. Throws FILTER_INVALID. */
export function canonicalFilter(filter: string): string {
  return parseFilter(filter).join('.');
}

/**
 * Changes of canonical filters, with their segments, after a removal and an addition; the others are not looked at. One
 * that is in both lists stays. Throws FILTER_INVALID, also where none would be left.
 */
export function changedFilters(
  held: ReadonlyMap<string, readonly string[]>,
  add: readonly string[],
  remove: readonly string[],
): Record<'fresh' | 'gone', ReadonlyMap<string, readonly string[]>> {
  const wanted = new Map(add.map(parseFilter).map((path) => [path.join('.'), path]));
  const fresh = new Map([...wanted].filter(([name]) => !held.has(name)));
  const leaving = remove.map(parseFilter).map((path) => [path.join('.'), path] as const);
  const gone = new Map(leaving.filter(([name]) => held.has(name) && !wanted.has(name)));
  if (held.size + fresh.size > gone.size) return { fresh, gone };
  throw new CoreError('FILTER_INVALID', { filter: '', reason: 'there is none' });
}

/** Does a topic match a filter? For single questions; the bus uses an index. */
export function matchesTopic(filter: string, topic: string): boolean {
  const wanted = parseFilter(filter);
  const segments = topic.split('.');
  const open = wanted.at(-1) === '**';
  if (open ? segments.length < wanted.length : segments.length !== wanted.length) return false;
  return wanted.every((segment, index) => segment === '**' || segment === '*' || segment === segments[index]);
}

function invalid(text: string, accept: (segment: string, last: boolean) => boolean): string | undefined {
  if (typeof text !== 'string' || text.length === 0) return 'it is empty';
  if (text.length > MAX_LENGTH) return `it has ${text.length} characters, at most ${MAX_LENGTH} are allowed`;
  const segments = text.split('.');
  if (segments.length > MAX_SEGMENTS) return `it has ${segments.length} segments, at most ${MAX_SEGMENTS} are allowed`;
  const wrong = segments.findIndex((segment, index) => !accept(segment, index === segments.length - 1));
  if (wrong < 0) return undefined;
  return `segment ${wrong + 1} ("${segments[wrong]}") may hold letters, digits, "_" and "-" only`;
}

function clip(text: string): string {
  const shown = String(text);
  return shown.length > 80 ? `${shown.slice(0, 80)}...` : shown;
}
