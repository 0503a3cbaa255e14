/** JSON Schemas of operations: closed, compiled by ajv without coercion, and messages that name the wrong member. */

import type { Ajv, ErrorObject, Options, ValidateFunction } from 'ajv';
import type { JsonSchema } from '../../contract/json-schema.ts';
import { CoreError, reasonOf } from '../../index.ts';
import { packageLater } from '../lazy-package.ts';
import { isObject } from '../schema-reader.ts';

/** Without a call there is nothing to check: most schemas of a device are never compiled. */
const ajv = packageLater<typeof import('ajv')>('ajv', import.meta.url);

const SHOWN = 80;

export class Schemas {
  /** Compiles params at once for every plugin: for authors of operations. */
  readonly #atOnce: boolean;
  readonly #params = new Validators({ useDefaults: true, coerceTypes: false, ...COMMON });
  readonly #results = new Validators(COMMON);

  constructor({ atOnce = false } = {}) {
    this.#atOnce = atOnce;
  }

  /**
   * A function that throws PARAMS_INVALID naming the wrong member; defaults are filled into the params that it gets.
   * Compiled when first asked; of an `outside` author at once, so that a schema that cannot be compiled is refused with
   * its operation. Those of the tree are compiled by a test.
   */
  params(name: string, schema: JsonSchema, outside = false): (params: unknown) => void {
    const where = `params of ${name}`;
    if (takesNothing(schema)) return (params) => refuseMembers(params, where);
    let validate = outside || this.#atOnce ? this.#params.of(schema, where) : undefined;
    return (params) => {
      validate ??= this.#params.of(schema, where);
      if (validate(params)) return;
      const wrong = describe(validate.errors);
      throw new CoreError('PARAMS_INVALID', {
        where,
        reason: `${wrong.member}: ${wrong.problem}`,
        member: wrong.member,
      });
    };
  }

  /** Fault of a result, or undefined. Compiled at the first check. */
  result(name: string, schema: JsonSchema): (result: unknown) => string | undefined {
    let validate: ValidateFunction | undefined;
    return (result) => {
      validate ??= this.#results.of(schema, `result of ${name}`);
      if (validate(result)) return undefined;
      const wrong = describe(validate.errors, 'result');
      return `${wrong.member}: ${wrong.problem}`;
    };
  }
}

/**
 * Without the schema of schemas and the optimiser, which cost more at a start than they bring: strict mode finds what
 * is wrong in a schema.
 */
const COMMON = {
  strict: true,
  meta: false,
  validateSchema: false,
  code: { optimize: false },
  strictTypes: false,
  strictRequired: false,
  strictTuples: false,
  allowUnionTypes: true,
  allowMatchingProperties: true,
  validateFormats: false,
} as const;

/** Half of the operations, `GET /health` among them: the first answer of a device does not wait for Ajv. */
function takesNothing({ type, additionalProperties, ...rest }: JsonSchema): boolean {
  return type === 'object' && additionalProperties === false && Object.keys(rest).length === 0;
}

/** As Ajv says it. */
function refuseMembers(params: unknown, where: string): void {
  const [first] = isObject(params) ? Object.keys(params) : [''];
  if (first === undefined) return;
  const member = isObject(params) ? path([first], 'params') : 'params';
  const problem = isObject(params) ? 'is not a known member' : 'must be object';
  throw new CoreError('PARAMS_INVALID', { where, reason: `${member}: ${problem}`, member });
}

/** Ajv never forgets what it compiled: a schema that comes again, with a plugin that restarts, must be the same one to it. */
class Validators {
  readonly #options: Options;
  readonly #byText = new Map<string, ValidateFunction>();
  #ajv: Ajv | undefined;

  constructor(options: Options) {
    this.#options = options;
  }

  of(schema: JsonSchema, where: string): ValidateFunction {
    const text = JSON.stringify(schema);
    const known = this.#byText.get(text);
    if (known) return known;
    try {
      this.#ajv ??= new (ajv().Ajv)(this.#options);
      const validate = this.#ajv.compile(schema);
      this.#byText.set(text, validate);
      return validate;
    } catch (thrown) {
      const details = { where: `the schema of ${where}`, reason: reasonOf(thrown) };
      throw new CoreError('PARAMS_INVALID', details, { cause: thrown });
    }
  }
}

/**
 * The schema with `additionalProperties: false` in every object schema that lists its properties and does not say
 * otherwise; the outermost one is closed in any case. An inner `{type: 'object'}` without properties stays open: it
 * stands for "any object". Branches of allOf are left alone, for each of them sees the members of the others.
 */
export function closed(schema: JsonSchema, outermost = true): JsonSchema {
  const copy: Record<string, unknown> = { ...schema };
  for (const key of ['properties', 'patternProperties', 'definitions', '$defs'])
    if (isObject(copy[key])) copy[key] = mapValues(copy[key], closeInner);
  for (const key of ['items', 'additionalProperties', 'contains', 'not', 'then', 'else'])
    if (isObject(copy[key])) copy[key] = closeInner(copy[key]);
  for (const key of ['anyOf', 'oneOf']) if (Array.isArray(copy[key])) copy[key] = copy[key].map(closeInner);
  const composed =
    'allOf' in copy || 'anyOf' in copy || 'oneOf' in copy || '$ref' in copy || 'patternProperties' in copy;
  const listed = 'properties' in copy || (outermost && !composed);
  if (copy.type === 'object' && listed && !('additionalProperties' in copy) && !('allOf' in copy))
    copy.additionalProperties = false;
  return copy;
}

const closeInner = (schema: unknown): unknown => (isObject(schema) ? closed(schema, false) : schema);

function mapValues(object: Record<string, unknown>, map: (value: unknown) => unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value)]));
}

/** The most telling error: the deepest one, for the branches of anyOf report before the anyOf itself. */
function describe(errors: readonly ErrorObject[] | null | undefined, root = 'params') {
  let error = errors?.[0];
  for (const other of errors ?? []) if (error && other.instancePath.length > error.instancePath.length) error = other;
  if (!error) return { member: root, problem: 'is not valid' };
  const parts = error.instancePath.split('/').slice(1).map(unescapePointer);
  const params = error.params as Record<string, unknown>;
  if (error.keyword === 'required')
    return { member: path([...parts, params.missingProperty], root), problem: 'is required' };
  if (error.keyword === 'additionalProperties')
    return { member: path([...parts, params.additionalProperty], root), problem: 'is not a known member' };
  return { member: path(parts, root), problem: problemOf(error, params) };
}

function problemOf(error: ErrorObject, params: Record<string, unknown>): string {
  if (error.keyword === 'enum')
    return `must be one of ${(params.allowedValues as unknown[]).map((v) => JSON.stringify(v)).join(', ')}`;
  if (error.keyword === 'const') return `must be ${JSON.stringify(params.allowedValue)}`;
  if (error.keyword === 'type') return `must be ${[params.type].flat().join(' or ')}`;
  return error.message ?? 'is not valid';
}

/** `functions[0].name`; the root's own name where nothing is below it. */
function path(parts: readonly unknown[], root: string): string {
  let text = '';
  for (const part of parts) text += /^\d+$/.test(String(part)) ? `[${part}]` : `${text ? '.' : ''}${part}`;
  if (text === '') return root;
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}...` : text;
}

function unescapePointer(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~');
}
