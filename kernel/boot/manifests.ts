import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { type ErrorCode, reasonOf } from '@device-core/plugin-api';
import { packageLater } from '@device-core/plugin-api/inside/lazy-package';
import { SCHEMA_WORDS } from '@device-core/plugin-api/inside/manifest-check';
import { type SkuFamily, type SkuLayer, type SkuPlace, skuFamily } from '@device-core/plugin-api/inside/sku-family';
import { TimeLimit } from '@device-core/plugin-api/inside/time-limit';
import { parseYaml, schemaProblems, type YamlPath, type YamlText } from '@device-core/plugin-api/inside/yaml';
import type { ErrorObject, ValidateFunction } from 'ajv';
import { CORE_VERSION } from '../composition.ts';
import { deepFreeze } from './freeze.ts';
import { KnownGood } from './known-good.ts';

const ajv = packageLater<typeof import('ajv')>('ajv', import.meta.url);

/** A manifest that was read and fits its schema. Its value is frozen: the same file gives the same value until it changes. */
export interface Source<T> extends SkuPlace {
  readonly file: string;
  readonly value: T;
}
export type Refuse = (place: SkuPlace, path: YamlPath, code: ErrorCode, message: string) => void;
type Kind = 'plugin' | 'sku';
type Errors = readonly ErrorObject[] | null | undefined;

/** For schemas that are used once: what costs more than it brings is off, the schema of schemas and the optimiser first of all. */
export const QUICK = {
  allErrors: true,
  strict: false,
  validateSchema: false,
  meta: false,
  useDefaults: true,
  code: { optimize: false },
  keywords: SCHEMA_WORDS,
};
const INVALID = { plugin: 'MANIFEST_INVALID', sku: 'SKU_INVALID' } as const;
/** In a checkout, and beside the package where it is packed. */
const SCHEMAS = ['../../manifests/schema/{kind}.json', '../../{kind}.schema.json'];
const validators = new Map<Kind, ValidateFunction>();
/** Nothing, until the Core says where its caches lie. */
let knownGood = KnownGood.none;
/** Files that are remembered: many times what a SKU lists. */
const MOST_FILES = 512;

interface Parsed {
  readonly text: string;
  readonly value: unknown;
  readonly errors: YamlText['errors'];
  readonly problems: ReturnType<typeof schemaProblems>;
}

/**
 * The last reading of each file. A SKU is resolved again at each look at its file, and parsing forty manifests and
 * compiling their schemas costs a tenth of a second; a file with the same text is not parsed again.
 */
const parsed = new Map<string, Parsed>();

/** Reads a manifest; its problems go to `refuse`. Undefined if it cannot be used. */
export function readManifest<T>(file: string, kind: Kind, refuse: Refuse): Source<T> | undefined {
  const code = INVALID[kind];
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    refuse(topOf(file), [], code, `it cannot be read: ${reasonOf(error)}`);
    return undefined;
  }
  const { value, errors, problems } = parse(file, text, kind);
  for (const error of errors) refuse(topOf(file, error.line), [], code, error.message);
  if (errors.length > 0) return undefined;
  const at = (path: YamlPath) => ({ file, line: lineIn(text, path) });
  for (const { path, reason } of problems) refuse({ at }, path, code, `${path.join('.') || 'the file'} ${reason}`);
  return problems.length > 0 ? undefined : { file, value: value as T, at };
}

/** Reads a SKU with all that it extends, as one. */
export function readSku(file: string, refuse: Refuse): SkuFamily | undefined {
  const read = (path: string) => readManifest<SkuLayer>(path, 'sku', refuse);
  const family = skuFamily(file, read, (place, path, message) => refuse(place, path, INVALID.sku, message));
  if (!family || family.files.length === 1) return family;
  const { value } = family;
  const text = textOf(value);
  const problems = knownGood.get('sku', text) === undefined ? misfits('sku', value) : [];
  if (problems.length === 0) knownGood.add('sku', text, value);
  for (const { path, reason } of problems) refuse(family, path, INVALID.sku, `${path.join('.')} ${reason}`);
  return problems.length > 0 ? undefined : { ...family, value: deepFreeze(value) };
}

/** A file of which no more is known than its name, or where its text ends to make sense. */
export function topOf(file: string, line = 1): SkuPlace {
  return { at: () => ({ file, line }) };
}

/** The texts that were asked for lines: complaints come together, and who looks for one may look for a hundred. */
const asked = new Map<string, YamlText>();

function lineIn(text: string, path: YamlPath): number {
  // The tree of a document is many times its text: none is kept for complaints that may never come.
  if (asked.size === 0) setImmediate(() => asked.clear());
  const document = asked.get(text) ?? parseYaml(text);
  asked.set(text, document);
  return document.line(path);
}

/** A path for people: relative to where they stand, unless that is further away. */
export function shown(file: string): string {
  const near = relative(process.cwd(), file);
  return near.startsWith('..') ? file : near;
}

function parse(file: string, text: string, kind: Kind): Parsed {
  const known = parsed.get(file);
  parsed.delete(file);
  if (known?.text === text) {
    parsed.set(file, known);
    return known;
  }
  const right = knownGood.get(kind, text);
  const entry = right === undefined ? read(text, kind) : { text, value: deepFreeze(right), errors: [], problems: [] };
  parsed.set(file, entry);
  const [oldest] = parsed.keys();
  if (parsed.size > MOST_FILES && oldest !== undefined) parsed.delete(oldest);
  return entry;
}

function read(text: string, kind: Kind): Parsed {
  const { value, errors } = parseYaml(text);
  const problems = errors.length > 0 ? [] : misfits(kind, value);
  if (errors.length + problems.length === 0) knownGood.add(kind, text, value);
  return { text, value: deepFreeze(value), errors, problems };
}

/**
 * From now on what was found right at a former start is neither parsed nor checked. Resolves when what was found at
 * this one is kept for the next.
 */
export function useKnownGood(folder: string, keeps = true): { keep(): Promise<void> } {
  // Results depend on these schemas; the other checks change with the version of the Core.
  const rules = ['plugin', 'sku'].map((kind) => readFileSync(schemaFile(kind as Kind), 'utf8'));
  const opened = KnownGood.open(folder, [CORE_VERSION, ...rules, ...SCHEMA_WORDS.map(({ validate }) => `${validate}`)]);
  knownGood = opened;
  return {
    async keep() {
      knownGood = KnownGood.none;
      if (keeps) await opened.keep();
    },
  };
}

const configurations = new WeakMap<object, ValidateFunction>();
const NO_CONFIGURATION = { type: 'object', additionalProperties: false } as const;

/** Milliseconds that the schema of a plugin from outside may take. */
const LIMIT_MS = 250;
const limits = new WeakMap<object, TimeLimit>();

/**
 * Fills the defaults of a configuration schema in and returns what does not fit. Throws where the schema does not
 * compile, and where one from outside takes too long. A schema is compiled once as long as it is the same object, and
 * goes with it: Ajv itself would keep every schema that it ever saw.
 */
export function configure(
  schema: object = NO_CONFIGURATION,
  config: Record<string, unknown>,
  from: 'tree' | 'outside' = 'tree',
): Errors {
  if (schema === NO_CONFIGURATION && Object.keys(config).length === 0) return [];
  const given = textOf([schema, config]);
  const filled = knownGood.get('config', given);
  if (filled !== undefined) return void Object.assign(config, filled);
  const errors = checked(schema, config, from);
  if (!errors?.length) knownGood.add('config', given, config);
  return errors;
}

const textOf = (value: unknown) => JSON.stringify(value, (_, one) => (isOdd(one) ? `\0${one}` : one));

/** A number that JSON makes null of. */
const isOdd = (value: unknown) => typeof value === 'number' && !Number.isFinite(value);

function checked(schema: object, config: Record<string, unknown>, from: 'tree' | 'outside'): Errors {
  if (from === 'tree') return fill(schema, config);
  const limit = limits.get(schema) ?? new TimeLimit(LIMIT_MS);
  limits.set(schema, limit);
  return limit.run(() => fill(schema, config));
}

function fill(schema: object, config: Record<string, unknown>): Errors {
  let validate = configurations.get(schema);
  if (!validate) {
    validate = new (ajv().Ajv)(QUICK).compile(schema);
    configurations.set(schema, validate);
  }
  return validate(config) ? [] : validate.errors;
}

/** Problems of a value with the schema of its kind of manifest. */
export function misfits(kind: Kind, value: unknown): ReturnType<typeof schemaProblems> {
  let validate = validators.get(kind);
  if (!validate) {
    validate = new (ajv().Ajv)(QUICK).compile(JSON.parse(readFileSync(schemaFile(kind), 'utf8')));
    validators.set(kind, validate);
  }
  return validate(value) ? [] : schemaProblems(validate.errors);
}

function schemaFile(kind: Kind): URL {
  const places = SCHEMAS.map((path) => new URL(path.replace('{kind}', kind), import.meta.url));
  const found = places.find((url) => existsSync(url));
  if (!found) throw new Error(`cannot check a manifest: the schema of ${kind} manifests is not there`);
  return found;
}
