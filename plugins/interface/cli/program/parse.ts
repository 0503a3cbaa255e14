/** The words behind a command as params. */
import { kindOf } from '@device-core/plugin-api/inside/schema-reader';
import { type Failure, usage } from '@device-core/plugin-api/program';
import { GLOBALS } from './globals.ts';
import { type Parameter, placesOf } from './parameters.ts';
import { nearest } from './suggest.ts';
import { readWords, standardInput, typeName } from './values.ts';

export interface Parsed {
  readonly params: Readonly<Record<string, unknown>>;
  /** Switches of the command itself that were given (`own`), with their values. */
  readonly own: Readonly<Record<string, string>>;
}

interface ParseOptions {
  /** Flags without dashes that devicectl adds to this command: `out` takes a value, a `switch` none. */
  readonly own?: Readonly<Record<string, 'value' | 'switch'>>;
  readonly given?: Readonly<Record<string, unknown>>;
  readonly stdin?: string | undefined;
  /** Fill in the defaults of the schema. */
  readonly defaults?: boolean;
}

/** Throws a Failure that names what is missing, unknown or wrong, and says the type. */
export async function parseWords(
  words: readonly string[],
  parameters: readonly Parameter[],
  options: ParseOptions = {},
): Promise<Parsed> {
  const { found, places, own } = sort(words, parameters, options.own ?? {});
  fillPlaces(found, places, parameters);
  const params: Record<string, unknown> = { ...options.given };
  for (const parameter of parameters) {
    const { name, kind, schema, required } = parameter;
    const words = found.get(name);
    const what = labelOf(parameter);
    if (words === NO) params[name] = false;
    else if (words === YES) params[name] = true;
    else if (words && kind === 'json' && 'string' in own) params[name] = words.join(' ');
    else if (words) params[name] = await readWords(words, 'hex' in own ? plainBytes(schema) : schema, what);
    else if (name === options.stdin && !process.stdin.isTTY) params[name] = await readStandardInput(schema, what);
    else if (required) throw usage(`${what} is missing: ${typeName(schema)}`, descriptionOf(schema));
    else if (options.defaults && 'default' in schema) params[name] = schema.default;
  }
  return { params, own };
}

/** How a param is called in help and in messages: `<handle>` at its place, `--rx` as a flag. */
export function labelOf({ place, name, flags }: Parameter): string {
  if (place !== undefined || flags.length === 0) return `<${name}>`;
  return dashed(flags[0]!);
}

export function dashed(flag: string): string {
  return flag.length === 1 ? `-${flag}` : `--${flag}`;
}

const YES: readonly string[] = [];
const NO: readonly string[] = [];

/** Which words are of flags and which stand at places. */
function sort(words: readonly string[], parameters: readonly Parameter[], ownFlags: Required<ParseOptions>['own']) {
  const found = new Map<string, readonly string[]>();
  const places: string[] = [];
  const own: Record<string, string> = {};
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at]!;
    if (word === '--') {
      places.push(...words.slice(at + 1));
      break;
    }
    // A single dash is standard input, and a number may be negative.
    if (!/^-[^\d.]/.test(word)) {
      places.push(word);
      continue;
    }
    const equals = word.indexOf('=');
    const flag = equals < 0 ? word : word.slice(0, equals);
    const value = () => {
      const text = equals < 0 ? words[++at] : word.slice(equals + 1);
      if (text === undefined) throw usage(`${flag} needs a value`);
      return text;
    };
    const kind = ownFlags[flag.replace(/^--/, '')];
    const parameter = byFlag(parameters, flag);
    const off = parameter ? undefined : byFlag(parameters, flag.replace(/^--no-/, '--'), 'boolean');
    if (parameter?.kind === 'boolean') found.set(parameter.name, equals < 0 ? YES : [value()]);
    else if (parameter) found.set(parameter.name, [...(found.get(parameter.name) ?? []), value()]);
    else if (off && flag.startsWith('--no-')) found.set(off.name, NO);
    else if (kind) own[flag.slice(2)] = kind === 'value' ? value() : '';
    else throw unknown(flag, parameters, Object.keys(ownFlags));
  }
  return { found, places, own };
}

function fillPlaces(found: Map<string, readonly string[]>, words: readonly string[], parameters: readonly Parameter[]) {
  const left = [...words];
  for (const { name, kind } of placesOf(parameters)) {
    if (left.length === 0) return;
    if (found.has(name)) continue;
    found.set(name, kind === 'array' || kind === 'object' ? left.splice(0) : left.splice(0, 1));
  }
  if (left.length === 0) return;
  // Not what it was: it may be the text of a secret, and terminals and shells keep what they show.
  const last = placesOf(parameters).at(-1);
  throw usage(
    `there is no place for ${left.length === 1 ? 'a word' : `${left.length} words`}${last ? ` after <${last.name}>` : ''}`,
  );
}

function byFlag(parameters: readonly Parameter[], flag: string, kind?: Parameter['kind']): Parameter | undefined {
  return parameters.find((one) => (!kind || one.kind === kind) && one.flags.some((name) => dashed(name) === flag));
}

/** Longer than the option of any command. */
const LONGEST_FLAG = 24;

function unknown(flag: string, parameters: readonly Parameter[], own: readonly string[]): Failure {
  const all = [...parameters.flatMap(({ flags }) => flags), ...own].map(dashed);
  const near = nearest(flag, [...all, ...GLOBALS.map((one) => one.flag)]);
  const there = all.length === 0 ? 'it takes no options' : `it takes ${all.join(', ')}`;
  // Its name, where it looks like one: the rest may be a secret, as with a word that has no place.
  const what = /^--[a-z]+(-[a-z]+)*$/.test(flag) && flag.length <= LONGEST_FLAG ? `option ${flag}` : 'such option';
  return usage(`there is no ${what}`, near ? `did you mean ${near}?` : there);
}

function descriptionOf({ description }: Parameter['schema']): string | undefined {
  return typeof description === 'string' ? description : undefined;
}

function readStandardInput(schema: Parameter['schema'], what: string): Promise<unknown> {
  if (kindOf(schema) !== 'string') return readWords(['-'], schema, what);
  return standardInput().then((bytes) => bytes.toString('utf8').trimEnd());
}

/** With `--hex` a text is bytes after all. */
function plainBytes(schema: Parameter['schema']): Parameter['schema'] {
  const { contentMediaType: _, ...rest } = schema;
  return rest;
}
