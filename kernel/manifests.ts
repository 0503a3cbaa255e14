import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { type ErrorCode, reasonOf } from '@device-core/plugin-api';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';

/** Something wrong with a SKU, and what it stops: the Core, one plugin, or nothing (a plugin waits, an app lacks a grant). */
export interface Problem {
  readonly file: string;
  readonly line: number;
  readonly code: ErrorCode;
  readonly message: string;
  readonly stops: 'core' | 'plugin' | 'nothing';
  readonly plugin?: string;
}

export type Path = readonly (string | number)[];

/** A YAML file that was read and fits its schema. */
export interface Source<T> {
  readonly file: string;
  readonly value: T;
  /** Line of the member at `path`, or of the nearest parent that is there. */
  line(path: Path): number;
}

const INVALID = { plugin: 'MANIFEST_INVALID', sku: 'SKU_INVALID' } as const;
const validators = new Map<keyof typeof INVALID, ValidateFunction>();

/** Reads a manifest; what is wrong with it goes to `refuse`, with its line. Undefined where it cannot be used. */
export function readManifest<T>(
  file: string,
  kind: keyof typeof INVALID,
  refuse: (source: Pick<Source<unknown>, 'file' | 'line'>, path: Path, code: ErrorCode, message: string) => void,
): Source<T> | undefined {
  const lines = new LineCounter();
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    refuse({ file, line: () => 1 }, [], INVALID[kind], `it cannot be read: ${reasonOf(error)}`);
    return undefined;
  }
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  for (const { message, pos } of document.errors) {
    refuse({ file, line: () => lines.linePos(pos[0]).line }, [], INVALID[kind], message);
  }
  if (document.errors.length > 0) return undefined;
  const line = (path: Path) => lines.linePos(offsetOf(document.contents, path)).line;
  const value: unknown = document.toJS();
  const validate = validators.get(kind) ?? compile(kind);
  if (validate(value)) return { file, value: value as T, line };
  for (const error of validate.errors ?? []) {
    if (error.keyword === 'if') continue; // says nothing that its branch does not say
    const path = pathOf(error);
    refuse({ file, line }, path, INVALID[kind], `${path.join('.') || 'the file'} ${complaint(error)}`);
  }
  return undefined;
}

/** Where a complaint of ajv points to: the extra or doubtful member itself, where there is one. */
export function pathOf({ instancePath, params }: ErrorObject): Path {
  const path = instancePath.split('/').slice(1);
  const member = params.additionalProperty ?? params.propertyName;
  const names = path.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  return member === undefined ? names : [...names, String(member)];
}

export function complaint({ keyword, params, message }: ErrorObject): string {
  if (keyword === 'additionalProperties') return 'is not known here';
  if (keyword === 'enum') return `must be one of ${(params.allowedValues as unknown[]).join(', ')}`;
  if (keyword === 'const') return `must be ${params.allowedValue}`;
  return message ?? keyword;
}

/** A path for people: relative to where they stand, unless that is further away. */
export function shown(file: string): string {
  const near = relative(process.cwd(), file);
  return near.startsWith('..') ? file : near;
}

function compile(kind: keyof typeof INVALID): ValidateFunction {
  const schema = JSON.parse(readFileSync(new URL(`../manifests/schema/${kind}.json`, import.meta.url), 'utf8'));
  const validate = new Ajv({ allErrors: true, strict: false }).compile(schema);
  validators.set(kind, validate);
  return validate;
}

function offsetOf(root: unknown, path: Path): number {
  let [node, offset] = [root, 0];
  for (const part of path) {
    const pair = isMap(node)
      ? node.items.find(({ key }) => isScalar(key) && String(key.value) === String(part))
      : undefined;
    const next = pair ? pair.value : isSeq(node) ? node.items[Number(part)] : undefined;
    const range = (pair?.key ?? next) as { range?: readonly number[] } | null | undefined;
    if (!range?.range) break;
    offset = range.range[0] ?? offset;
    node = next;
  }
  return offset;
}
