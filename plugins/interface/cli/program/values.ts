/** Words of the command line as values of their schemas. */
import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { choicesOf, itemsOf, kindOf } from '@device-core/plugin-api/inside/schema-reader';
import { usage } from '@device-core/plugin-api/program';
import type { JsonSchema } from '@device-core/plugin-api/services/operations';

/** Name of a schema in messages about a missing or wrong value. */
export function typeName(schema: JsonSchema): string {
  switch (kindOf(schema)) {
    case 'array':
      return `${typeName(itemsOf(schema))}, may be repeated`;
    case 'boolean':
      return 'true or false';
    case 'bytes':
      return 'pairs of hex digits, @file, - or base64:...';
    case 'text':
      return 'text, hex:..., @file, - or base64:...';
    case 'choice':
      return (choicesOf(schema) ?? []).map(String).join(', ');
    case 'integer':
      return `a whole number${range(schema)}`;
    case 'number':
      return `a number${range(schema)}`;
    case 'object':
      return 'JSON, key=value, @file or -';
    case 'json':
      return 'JSON, or a word';
    default:
      return 'text';
  }
}

function range({ minimum, maximum }: JsonSchema): string {
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`;
  if (minimum !== undefined) return ` of at least ${minimum}`;
  return maximum === undefined ? '' : ` of at most ${maximum}`;
}

/** All words that were given for one param. Throws a Failure that names `what` and says the type. */
export async function readWords(words: readonly string[], schema: JsonSchema, what: string): Promise<unknown> {
  const kind = kindOf(schema);
  const [first = ''] = words;
  if (kind === 'array') {
    if (words.length === 1 && /^(\[|@.|-$)/.test(first)) return readJson(first, what, Array.isArray, 'a JSON array');
    const items = itemsOf(schema);
    return Promise.all(words.map((word) => readWords([word], items, what)));
  }
  if (kind === 'object') return readObject(words, what);
  if (words.length > 1) throw usage(`${what} is given twice`);
  return readWord(first, schema, what);
}

async function readWord(word: string, schema: JsonSchema, what: string): Promise<unknown> {
  const wrong = () => usage(`${what} must be ${typeName(schema)}, not "${word}"`);
  switch (kindOf(schema)) {
    case 'integer':
    case 'number': {
      const whole = /^[-+]?(\d+|0x[0-9a-f]+)$/i;
      const value = /^[-+]0x/i.test(word) ? Number.NaN : Number(word);
      if (word.trim() === '' || !Number.isFinite(value)) throw wrong();
      if (kindOf(schema) === 'integer' && !(whole.test(word) || Number.isInteger(value))) throw wrong();
      if (value < Number(schema.minimum ?? -Infinity) || value > Number(schema.maximum ?? Infinity)) throw wrong();
      return value;
    }
    case 'boolean':
      if (word !== 'true' && word !== 'false') throw wrong();
      return word === 'true';
    case 'choice': {
      const choices = choicesOf(schema) ?? [];
      const found = choices.findIndex((choice) => String(choice) === word);
      if (found < 0) throw usage(`${what} must be one of ${typeName(schema)}, not "${word}"`);
      return choices[found];
    }
    case 'bytes':
      return (await readBytes(word, (text) => fromHex(text) ?? refuse(wrong))).toString('base64');
    case 'text':
      return (await readBytes(word, readText(wrong))).toString('base64');
    case 'json':
      return jsonOrWord(word);
    default:
      return word;
  }
}

/** JSON where it reads as JSON, the word itself otherwise: `config set device.name kitchen`. */
export function jsonOrWord(word: string): unknown {
  try {
    return JSON.parse(word);
  } catch {
    return word; // not JSON, so it is the word that is meant
  }
}

async function readObject(words: readonly string[], what: string): Promise<unknown> {
  const [first = ''] = words;
  if (words.length === 1 && /^(\s*\{|@.|-$)/.test(first))
    return readJson(first, what, (value) => typeof value === 'object' && value !== null, 'a JSON object');
  const object: Record<string, unknown> = {};
  for (const word of words) {
    const [, key, value = ''] = /^([^=]+)=([\s\S]*)$/.exec(word) ?? [];
    if (key === undefined) throw usage(`${what} must be ${typeName({ type: 'object' })}, not "${word}"`);
    if (Object.hasOwn(object, key)) throw usage(`${what} has ${key} twice`);
    object[key] = jsonOrWord(value);
  }
  return object;
}

async function readJson(
  word: string,
  what: string,
  fits: (value: unknown) => boolean,
  wanted: string,
): Promise<unknown> {
  const text = /^(@.|-$)/.test(word) ? (await readBytes(word, () => Buffer.alloc(0))).toString('utf8') : word;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw usage(`${what} is not JSON: ${(error as Error).message}`);
  }
  if (!fits(value)) throw usage(`${what} must be ${wanted}`);
  return value;
}

/** `@file`, `-` for standard input, `base64:...`; what is none of them is for `otherwise`. */
async function readBytes(word: string, otherwise: (word: string) => Buffer): Promise<Buffer> {
  if (word === '-') return standardInput();
  if (word.startsWith('@')) return readFileNamed(word.slice(1));
  if (word.startsWith('base64:')) return Buffer.from(word.slice('base64:'.length), 'base64');
  return otherwise(word);
}

const readText = (wrong: () => Error) => (word: string) =>
  word.startsWith('hex:') ? (fromHex(word.slice('hex:'.length)) ?? refuse(wrong)) : Buffer.from(word, 'utf8');

function refuse(wrong: () => Error): never {
  throw wrong();
}

/** Pairs of hex digits as people write them, `9f 00`, `0x9f00`, `9f:00`. */
function fromHex(text: string): Buffer | undefined {
  const digits = text.replace(/^0x/i, '').replace(/[\s:_-]/g, '');
  return /^([0-9a-f]{2})*$/i.test(digits) ? Buffer.from(digits, 'hex') : undefined;
}

async function readFileNamed(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    throw usage(`cannot read ${file}: ${(error as NodeJS.ErrnoException).code}`);
  }
}

export function standardInput(): Promise<Buffer> {
  return buffer(process.stdin);
}
