/** Keeps secrets out of logs, whoever writes them (specification, Authentication 5): by the names of members and by the form of texts. Pure. */
import { secrecyOf } from './keys.ts';
import { HIDDEN, redactText } from './text.ts';

export { redactText } from './text.ts';

const DEEPEST = 8;
const MOST_ITEMS = 100;

/**
 * A value for the log: members that are named like a secret hidden at any depth, secrets inside of texts as well, errors, maps and sets as plain
 * values, an end to depth and length. Numbers stay, `tokens: 120` is no secret; those of a PIN do not.
 */
export function redact(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value === 'bigint') return `${value}`; // JSON has none
  if (typeof value !== 'object' || value === null) return value;
  if (depth > DEEPEST) return '[deep]';
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (Array.isArray(value)) return list(value, depth);
  if (value instanceof Set) return list([...value], depth);
  if (value instanceof Map)
    return Object.fromEntries([...value].map(([key, one]) => [nameOf(key), member(nameOf(key), one, depth)]));
  const { name, message, stack, cause } = value as Partial<Error>;
  const members = value instanceof Error ? { ...value, name, message, stack, cause } : value;
  const named = nameOfPair(members as Record<string, unknown>);
  return Object.fromEntries(
    Object.entries(members).map(([key, one]) => [key, member(key === 'value' && named ? named : key, one, depth)]),
  );
}

/** A key of a map may be anything, and what is no primitive has no text that can be relied on. */
function nameOf(key: unknown): string {
  return typeof key === 'object' && key !== null ? '[object]' : String(key);
}

function member(name: string, value: unknown, depth: number): unknown {
  const secrecy = secrecyOf(name);
  if (secrecy === 'none' || value === undefined || value === null || typeof value === 'boolean')
    return redact(value, depth + 1);
  return typeof value === 'number' && secrecy === 'text' ? value : HIDDEN;
}

/** Pairs of a name and a value stand in a list as [name, value], or one behind the other, as raw headers do. */
function list(values: readonly unknown[], depth: number): unknown[] {
  const paired = values.length % 2 === 0;
  return values.slice(0, MOST_ITEMS).map((one, index) => {
    const before = index % 2 === 1 && paired ? values[index - 1] : undefined;
    const secret = typeof before === 'string' && typeof one === 'string' && secrecyOf(before) !== 'none';
    // Two such names side by side are a list of names.
    return secret && secrecyOf(one) === 'none' ? HIDDEN : redact(one, depth + 1);
  });
}

/** `{ name: 'Authorization', value: '...' }`, as logs of requests have it. */
function nameOfPair(members: Readonly<Record<string, unknown>>): string | undefined {
  if (!('value' in members)) return undefined;
  const name = members.name ?? members.key ?? members.header;
  return typeof name === 'string' && secrecyOf(name) !== 'none' ? name : undefined;
}
