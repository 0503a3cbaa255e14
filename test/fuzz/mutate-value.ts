/** Mutations of a tree of JSON: members change their type, their place, their number. */
import type { Random } from './random.ts';

type Path = readonly (string | number)[];

/** What JSON.stringify would not write: put in the place of a mark when the text is made. */
const RAW = ['1e999', '-1e999', '-0', '1e-400', '18446744073709551616', '"\\ud800"', '{"__proto__":{"a":1}}'] as const;
const mark = (index: number): string => `\u0001raw${index}\u0001`;

function odd(random: Random, words: readonly string[]): unknown {
  switch (random.below(13)) {
    case 0:
      return null;
    case 1:
      return random.chance(0.5);
    case 2:
      return random.pick([0, -1, 1, 0.5, 2 ** 31, 2 ** 53, -(2 ** 53), 1e21, 1e308, 255, 256, 65_536]);
    case 3:
      return '';
    case 4:
      return 'x'.repeat(random.pick([1, 64, 256, 4_097, 70_000]));
    case 5:
      return random.pick(['__proto__', 'constructor', 'toString', '../../etc/passwd', '/', '.', '\0', '\u202e', '💥']);
    case 6:
      return [];
    case 7:
      return {};
    case 8:
      return deep(random.pick([3, 70, 200]), random.chance(0.5));
    case 9:
      return Array.from({ length: random.pick([1, 65, 1_000]) }, () => random.pick<unknown>([0, {}, 'a', []]));
    case 10:
      return { length: random.pick([0, 1, 4_294_967_295]), some: 1 };
    case 11:
      return words.length > 0 ? random.pick(words) : 'word';
    default:
      return mark(random.below(RAW.length));
  }
}

function deep(levels: number, list: boolean): unknown {
  let value: unknown = 0;
  for (let level = 0; level < levels; level += 1) value = list ? [value] : { a: value };
  return value;
}

function paths(value: unknown, path: Path = [], found: Path[] = []): Path[] {
  found.push(path);
  if (found.length > 2_000 || typeof value !== 'object' || value === null) return found;
  for (const [name, member] of Object.entries(value))
    paths(member, [...path, Array.isArray(value) ? Number(name) : name], found);
  return found;
}

const at = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>((one, name) => (one as Record<string, unknown> | undefined)?.[name], value);

/** A copy with one member changed. */
function changed(root: unknown, random: Random, other: unknown, words: readonly string[]): unknown {
  const all = paths(root);
  const path = random.pick(all);
  const name = path.at(-1);
  if (name === undefined) return random.chance(0.1) ? odd(random, words) : added(root, random, other, words);
  const copy = structuredClone(root);
  const parent = at(copy, path.slice(0, -1)) as Record<string | number, unknown>;
  switch (random.below(6)) {
    case 0:
      if (Array.isArray(parent)) parent.splice(Number(name), 1);
      else delete parent[name];
      return copy;
    case 1:
      parent[name] = structuredClone(at(other, random.pick(paths(other))));
      return copy;
    case 2:
      if (Array.isArray(parent)) parent.splice(Number(name), 0, structuredClone(parent[Number(name)]));
      else parent[`${name}${random.pick(['', '2', ' ', 'X'])}`] = parent[name];
      return copy;
    case 3:
      parent[name] = near(parent[name], random) ?? odd(random, words);
      return copy;
    case 4:
      parent[name] = added(parent[name], random, other, words);
      return copy;
    default:
      parent[name] = odd(random, words);
      return copy;
  }
}

/** A value of the same type that is a little different. */
function near(value: unknown, random: Random): unknown {
  if (typeof value === 'number') return random.pick([value + 1, value - 1, -value, value * 1_000, value + 0.5]);
  if (typeof value !== 'string') return undefined;
  const cut = random.below(value.length + 1);
  return random.pick([
    value.slice(cut),
    `${value}${value}`,
    `${value} `,
    value.toUpperCase(),
    `${value.slice(0, cut)}${random.pick(['\0', '\n', '/', '..', '{', '%', '\u00e4', '*'])}${value.slice(cut)}`,
  ]);
}

function added(value: unknown, random: Random, other: unknown, words: readonly string[]): unknown {
  const more = random.chance(0.5) ? odd(random, words) : structuredClone(at(other, random.pick(paths(other))));
  if (Array.isArray(value)) return [...value, more];
  if (typeof value !== 'object' || value === null) return more;
  const names = [...paths(other).flatMap((path) => path.at(-1) ?? []), ...words, 'more'];
  return { ...value, [random.pick(names)]: more };
}

/** JSON text of the value after some changes. */
export function mutateValue(value: unknown, random: Random, other: unknown, words: readonly string[] = []): Buffer {
  let now = value;
  for (let left = random.pick([1, 1, 2, 4]); left > 0; left -= 1) now = changed(now, random, other, words);
  const text = JSON.stringify(now) ?? 'null';
  return Buffer.from(
    text.replace(/"\\u0001raw(\d)\\u0001"(:?)/g, (_, index, colon) => (colon ? `"raw"${colon}` : RAW[index]!)),
  );
}
