import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { type ErrorCode, reasonOf } from '@device-core/plugin-api';
import { parseYaml, schemaProblems, type YamlPath } from '@device-core/plugin-api/yaml';
import { Ajv, type ValidateFunction } from 'ajv';

/** A manifest that was read and fits its schema. */
export interface Source<T> {
  readonly file: string;
  readonly value: T;
  line(path: YamlPath): number;
}
export type Place = Omit<Source<unknown>, 'value'>;
export type Refuse = (place: Place, path: YamlPath, code: ErrorCode, message: string) => void;

/** For schemas that are used once: what costs more than it brings is off, the schema of schemas and the optimiser first of all. */
export const QUICK = {
  ...{ allErrors: true, strict: false, validateSchema: false, meta: false, useDefaults: true },
  code: { optimize: false },
} as const;
const INVALID = { plugin: 'MANIFEST_INVALID', sku: 'SKU_INVALID' } as const;
const VALIDATORS = { plugin: compile('plugin'), sku: compile('sku') } as const;

/** Reads a manifest; what is wrong with it goes to `refuse`. Undefined where it cannot be used. */
export function readManifest<T>(file: string, kind: keyof typeof INVALID, refuse: Refuse): Source<T> | undefined {
  const code = INVALID[kind];
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    refuse({ file, line: () => 1 }, [], code, `it cannot be read: ${reasonOf(error)}`);
    return undefined;
  }
  const { value, errors, line } = parseYaml(text);
  for (const error of errors) refuse({ file, line: () => error.line }, [], code, error.message);
  if (errors.length > 0) return undefined;
  const validate = VALIDATORS[kind];
  if (validate(value)) return { file, value: value as T, line };
  for (const { path, reason } of schemaProblems(validate.errors)) {
    refuse({ file, line }, path, code, `${path.join('.') || 'the file'} ${reason}`);
  }
  return undefined;
}

/** A path for people: relative to where they stand, unless that is further away. */
export function shown(file: string): string {
  const near = relative(process.cwd(), file);
  return near.startsWith('..') ? file : near;
}

function compile(kind: keyof typeof INVALID): ValidateFunction {
  const url = new URL(`../../manifests/schema/${kind}.json`, import.meta.url);
  return new Ajv(QUICK).compile(JSON.parse(readFileSync(url, 'utf8')));
}
