/**
 * The command line of devicectl for a call, made from the table as devicectl itself makes its commands from it
 * (docs/reference/devicectl.md). A test runs what is made here through the parser of devicectl.
 */
import { commandOf, kebab } from '@device-core/plugin-api/inside/command-words';
import {
  choicesOf,
  isWord,
  kindOf,
  propertiesOf,
  requiredOf,
  type Schema,
} from '@device-core/plugin-api/inside/schema-reader';
import { canBeWord, safeJson } from './shell.ts';

/** `x-cli` of the OpenRPC document. */
export interface CliView {
  readonly command?: string;
  readonly fixed?: readonly string[];
  readonly flags?: Readonly<Record<string, readonly string[]>>;
  readonly given?: Readonly<Record<string, unknown>>;
  readonly hide?: true | readonly string[];
}

type Values = Readonly<Record<string, unknown>>;

/** Flags that devicectl has itself. */
const RESERVED = new Set(['json', 'root', 'run', 'socket', 'device', 'url', 'token-file', 'help', 'h']);

/** The words behind `devicectl`, or undefined where it has no words for this call. `taken`: commands that are programs of their own. */
export function wordsOf(
  method: { readonly name: string; readonly params: Schema; readonly views: readonly CliView[] },
  values: Values,
  taken: ReadonlySet<string>,
): readonly string[] | undefined {
  const views = method.views.length > 0 ? method.views : [{}];
  for (const view of views) {
    if (view.hide === true) continue;
    const command = view.command ?? commandOf(method.name);
    // A program has params of its own; one that is in the place of an operation without any needs none.
    if (taken.has(command) && Object.keys(propertiesOf(method.params)).length > 0) continue;
    const words = argumentsOf(method.params, view, values);
    if (words !== undefined) return [...command.split(' '), ...words];
  }
  return undefined;
}

function argumentsOf(params: Schema, view: CliView, values: Values): readonly string[] | undefined {
  const properties = propertiesOf(params);
  const required = requiredOf(params);
  const given = view.given ?? {};
  const hidden: readonly string[] = Array.isArray(view.hide) ? view.hide : [];
  // Members that the command adds by itself must equal the given values.
  if (Object.keys(given).some((name) => values[name] === undefined)) return undefined;
  const left = Object.entries(values).filter(
    ([name, value]) => value !== undefined && !(name in given && same(given[name], value)),
  );
  const fixed = view.fixed ?? required.filter((name) => !(name in given) && isWord(properties[name]));
  const [flags, places]: [string[], string[]] = [[], []];
  const wanted = new Map(left);
  let gap = false;
  for (const name of fixed) {
    const schema = properties[name];
    if (schema === undefined || hidden.includes(name) || !wanted.has(name)) {
      gap = true;
      continue;
    }
    if (gap) continue;
    const word = wordOf(schema, wanted.get(name));
    if (word === undefined) return undefined;
    places.push(word);
    wanted.delete(name);
  }
  for (const [name, value] of wanted) {
    const schema = properties[name];
    const flag = (view.flags?.[name] ?? [kebab(name)])[0];
    if (schema === undefined || hidden.includes(name) || flag === undefined) return undefined;
    const words = flagWords(RESERVED.has(flag) ? `arg-${flag}` : flag, schema, value);
    if (words === undefined) return undefined;
    flags.push(...words);
  }
  const lead = places.some((word) => /^-[^\d.]/.test(word) || word === '--') ? ['--'] : [];
  // Flags go first where a word could be taken for one.
  return lead.length > 0 ? [...flags, ...lead, ...places] : [...places, ...flags];
}

function flagWords(flag: string, schema: Schema, value: unknown): readonly string[] | undefined {
  const dashed = flag.length === 1 ? `-${flag}` : `--${flag}`;
  if (kindOf(schema) === 'boolean' && value === true) return [dashed];
  const word = wordOf(schema, value);
  if (word === undefined) return undefined;
  return kindOf(schema) === 'boolean' || word.startsWith('-') ? [`${dashed}=${word}`] : [dashed, word];
}

/** A value as the one word that devicectl reads as this value. */
function wordOf(schema: Schema, value: unknown): string | undefined {
  const word = textOf(schema, value);
  return word !== undefined && canBeWord(word) ? word : undefined;
}

function textOf(schema: Schema, value: unknown): string | undefined {
  switch (kindOf(schema)) {
    case 'choice': {
      const first = choicesOf(schema)?.find((one) => String(one) === String(value));
      return same(first, value) ? String(value) : undefined;
    }
    case 'integer':
    case 'number':
      return typeof value === 'number' && Number.isFinite(value) ? String(value) : undefined;
    case 'boolean':
      return typeof value === 'boolean' ? String(value) : undefined;
    case 'bytes':
    case 'text':
      return typeof value === 'string' ? `base64:${value}` : undefined;
    case 'array':
      return Array.isArray(value) ? safeJson(value) : undefined;
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value) ? safeJson(value) : undefined;
    case 'string':
      return typeof value === 'string' ? value : undefined;
    default:
      return safeJson(value);
  }
}

const same = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a) === JSON.stringify(b);
