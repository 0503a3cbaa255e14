/** Keys and values of the configuration (decisions D7). Pure. */
import { CoreError } from '@device-core/plugin-api';

const KEY = /^[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9][A-Za-z0-9_-]*)*$/;
const MAX_KEY_LENGTH = 128;
const MAX_SEGMENTS = 8;
const MAX_VALUE_BYTES = 64 * 1024;
const MAX_DEPTH = 8;

/** Why a text is not a key; undefined for a valid one. */
export function keyFault(key: string): string | undefined {
  if (key.length === 0) return 'it is empty';
  if (key.length > MAX_KEY_LENGTH) return `it has ${key.length} characters, at most ${MAX_KEY_LENGTH} are allowed`;
  if (!KEY.test(key))
    return 'dotted segments of letters, digits, "_" and "-" are allowed, each starting with a letter or digit';
  const segments = key.split('.').length;
  return segments > MAX_SEGMENTS ? `it has ${segments} segments, at most ${MAX_SEGMENTS} are allowed` : undefined;
}

/** Throws CONFIG_KEY_INVALID. */
export function checkKey(key: string): void {
  const reason = typeof key === 'string' ? keyFault(key) : 'it is not a string';
  if (reason) throw new CoreError('CONFIG_KEY_INVALID', { key: clip(String(key)), reason });
}

/** Names the folder of an app as well. */
export const isAppId = (app: string): boolean => app.length <= MAX_KEY_LENGTH && KEY.test(app);

/** Throws PARAMS_INVALID. */
export function checkApp(app: string): void {
  if (!isAppId(app)) throw new CoreError('PARAMS_INVALID', { where: 'app', reason: 'it is not an app id' });
}

/** Why a value cannot be stored; undefined for JSON within the limits of size (64 KiB as JSON) and depth (8 nested containers). */
export function valueFault(value: unknown): string | undefined {
  const fault = jsonFault(value, 0);
  if (fault) return fault;
  const bytes = Buffer.byteLength(JSON.stringify(value));
  return bytes > MAX_VALUE_BYTES ? `it has ${bytes} bytes as JSON, at most ${MAX_VALUE_BYTES} are allowed` : undefined;
}

function jsonFault(value: unknown, depth: number): string | undefined {
  if (value === null || typeof value === 'boolean') return undefined;
  if (typeof value === 'string') return value.isWellFormed() ? undefined : 'it holds half of a surrogate pair';
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : `${value} is not a JSON number`;
  if (typeof value !== 'object') return `${typeof value} is not a JSON type`;
  if (depth === MAX_DEPTH) return `it is nested deeper than ${MAX_DEPTH}`;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null)
    return 'it holds an object that is not plain JSON';
  for (const [name, member] of Object.entries(value)) {
    const fault = jsonFault(name, depth + 1) ?? jsonFault(member, depth + 1);
    if (fault) return fault;
  }
  return undefined;
}

/** A frozen copy: callers in the same process must not change what the store holds. */
export function freezeCopy<T>(value: T): T {
  return freeze(structuredClone(value));
}

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const member of Object.values(value)) freeze(member);
    Object.freeze(value);
  }
  return value;
}

/** Is `key` the prefix itself or below it, segment by segment? */
export function isBelow(key: string, prefix: string): boolean {
  return key === prefix || key.startsWith(`${prefix}.`);
}

export function clip(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}...` : text;
}
