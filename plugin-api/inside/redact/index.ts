/**
 * Logs of the Core, of plugins and of apps show no secrets (specification, Authentication 5): names of members and
 * forms of texts give them away.
 */
import { isSecretRef, Secret } from '../../contract/secret.ts';
import { isPlain, secrecyOf } from './keys.ts';
import { HIDDEN, REFERENCE, redactText } from './text.ts';

export { type RedactionRules, type TextRule, useRedaction } from './rules.ts';
export { redactText } from './text.ts';

const DEEPEST = 8;
const MOST_ITEMS = 100;
const MOST_MEMBERS = 500;
/** Objects in one value: what has more is a mistake, or meant to take the time of the Core. */
const MOST_OBJECTS = 2_000;
const UNREADABLE = '[unreadable]';

type Members = Readonly<Record<string, unknown>>;

/**
 * A value for the log: members that are named like a secret hidden at any depth, secrets inside of texts as well,
 * errors, maps and sets as plain values, an end to depth and length. Numbers stay, `tokens: 120` is no secret; those of
 * a PIN do not. It never throws.
 */
export function redact(value: unknown): unknown {
  return new Redaction().plain(value, 0);
}

class Redaction {
  #objects = 0;
  /** The objects around the present one. */
  readonly #above: object[] = [];

  /** `named`: the name of a secret that an object around the value has. */
  plain(value: unknown, depth: number, named?: string): unknown {
    if (typeof value === 'string') return redactText(value);
    if (typeof value === 'bigint') return `${value}`; // JSON has none
    if (typeof value !== 'object' || value === null) return value;
    if (depth > DEEPEST) return '[deep]';
    if (this.#above.includes(value)) return '[circle]';
    if (++this.#objects > MOST_OBJECTS) return '[more]';
    this.#above.push(value);
    try {
      return this.#object(value, depth, named);
    } catch {
      return UNREADABLE; // a Proxy, or an object whose parts are not what they seem
    } finally {
      this.#above.pop();
    }
  }

  #object(value: object, depth: number, around: string | undefined): unknown {
    if (value instanceof Secret) return value.toString();
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`;
    if (Array.isArray(value)) return this.#list(value, value.length, depth, around);
    if (value instanceof Set) return this.#list([...value.values().take(MOST_ITEMS)], value.size, depth, around);
    if (value instanceof Map) return this.#map(value, depth);
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
    if (value instanceof URL || value instanceof RegExp) return redactText(String(value));
    if (isSecretRef(value) && REFERENCE.test(value.secret)) return `[ref ${value.secret}]`;
    const members = membersOf(value);
    const own = nameOfPair(members);
    const named = own === undefined ? around : secrecyOf(own) === 'none' ? undefined : own;
    for (const key of Object.keys(members))
      members[key] =
        named !== undefined && VALUES.has(key)
          ? this.#member(named, members[key], depth)
          : this.#member(key, members[key], depth, named);
    return members;
  }

  #map(map: ReadonlyMap<unknown, unknown>, depth: number): Members {
    const members = map
      .entries()
      .take(MOST_MEMBERS)
      .map(([key, one]) => [nameOf(key), this.#member(nameOf(key), one, depth)]);
    return Object.fromEntries([...members, ...more(map.size, MOST_MEMBERS)]);
  }

  #member(name: string, value: unknown, depth: number, named?: string): unknown {
    const secrecy = secrecyOf(name);
    if (secrecy === 'none' || value === undefined || value === null || typeof value === 'boolean')
      return this.plain(value, depth + 1, named);
    if ((typeof value === 'number' && secrecy === 'text') || isPlain(name, value)) return value;
    return value instanceof Secret || isReference(value) ? this.plain(value, depth + 1) : HIDDEN;
  }

  /**
   * Pairs of a name and a value stand in a list as [name, value], or one behind the other, as raw headers and arguments
   * of a command do.
   */
  #list(
    values: readonly unknown[],
    size: number,
    depth: number,
    named: string | undefined,
    ofPairs = false,
  ): unknown[] {
    const pairs = values.length > 0 && values.every(isPair);
    const plain = values.slice(0, MOST_ITEMS).map((one, index) => {
      const before = index > 0 ? values[index - 1] : undefined;
      const behindName = index % 2 === 1 && size % 2 === 0;
      if (typeof before === 'string' && (behindName || isOption(before)) && this.#isValue(before, one, ofPairs))
        return this.#member(before, one, depth);
      if (pairs && this.#objects++ < MOST_OBJECTS) return this.#list(one as unknown[], 2, depth + 1, named, true);
      return this.plain(one, depth + 1, named);
    });
    if (size > MOST_ITEMS) plain.push(`[${size - MOST_ITEMS} more]`);
    return plain;
  }

  /** Two names of secrets side by side are a list of names, unless the list consists of pairs. */
  #isValue(name: string, value: unknown, ofPairs: boolean): boolean {
    if (secrecyOf(name) === 'none' || isOption(value)) return false;
    return ofPairs || !(typeof value === 'string' && NAME.test(value) && secrecyOf(value) !== 'none');
  }
}

/** Members that hold the value of a setting, of a header or of a change. */
const VALUES: ReadonlySet<string> = new Set(
  'value values running default examples before after previous old new current misfit'.split(' '),
);
const NAME = /^[A-Za-z]+(?:[-_. ][A-Za-z]+)*$/;
const isPair = (value: unknown): boolean => Array.isArray(value) && value.length === 2 && typeof value[0] === 'string';
const isOption = (value: unknown): boolean => typeof value === 'string' && /^--?[a-z][\w-]*$/i.test(value);

const isReference = (value: unknown) => isSecretRef(value) && REFERENCE.test(value.secret);

/** Own members as they are now, those of an error among them; a getter that throws leaves a mark in its place. */
function membersOf(value: object): Record<string, unknown> {
  const keys = Object.keys(value);
  if (value instanceof Error) keys.push('name', 'message', 'stack', 'cause');
  const members = keys.slice(0, MOST_MEMBERS).map((key) => [key, read(value, key)]);
  return Object.fromEntries([...members, ...more(keys.length, MOST_MEMBERS)]);
}

function read(value: object, key: string): unknown {
  try {
    return (value as Members)[key];
  } catch {
    return UNREADABLE;
  }
}

const more = (size: number, most: number): [string, string][] => (size > most ? [['...', `${size - most} more`]] : []);

/** A key of a map may be anything, and what is no primitive has no text that can be relied on. */
function nameOf(key: unknown): string {
  return typeof key === 'object' && key !== null ? '[object]' : String(key);
}

/**
 * `{ name: 'Authorization', value: '...' }`, as logs of requests have it;
 * `{ key: 'mqtt.password', layers: [{ value: '...' }] }` of a setting.
 */
function nameOfPair(members: Members): string | undefined {
  const name = members.name ?? members.key ?? members.header ?? members.setting;
  return typeof name === 'string' ? name : undefined;
}
