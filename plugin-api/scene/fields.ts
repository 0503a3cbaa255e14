/** Fields of scenes and cards: each is checked by its function and described by its JSON Schema, so that both say the same. */
import { CoreError } from '../contract/errors.ts';
import type { JsonSchema } from '../contract/json-schema.ts';
import { nearest } from '../kits/nearest.ts';

/** Checks one value; `at` is its JSON pointer. */
export interface Field {
  readonly schema: JsonSchema;
  check(value: unknown, at: string): void;
}

export type Fields = Readonly<Record<string, Field>>;

/** Fault of a field, with its place; the caller of the check adds `what`. */
export class FieldProblem extends Error {
  readonly where: string;
  constructor(where: string, reason: string) {
    super(reason);
    this.where = where;
  }
}

/** Runs a check; a problem in it becomes SCENE_INVALID. */
export function checked<T>(what: string, value: unknown, check: (value: unknown) => void): T {
  try {
    check(value);
  } catch (error) {
    if (!(error instanceof FieldProblem)) throw error;
    throw new CoreError('SCENE_INVALID', { what, where: error.where || '/', reason: error.message });
  }
  return value as T;
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function number(minimum: number, maximum: number): Field {
  return {
    schema: { type: 'number', minimum, maximum },
    check(value, at) {
      // NaN and infinities are refused by the comparison.
      if (typeof value !== 'number' || !(value >= minimum && value <= maximum))
        throw new FieldProblem(at, `it must be a number from ${minimum} to ${maximum}`);
    },
  };
}

export function integer(minimum: number, maximum: number): Field {
  return {
    schema: { type: 'integer', minimum, maximum },
    check(value, at) {
      if (!(Number.isInteger(value) && (value as number) >= minimum && (value as number) <= maximum))
        throw new FieldProblem(at, `it must be an integer from ${minimum} to ${maximum}`);
    },
  };
}

export const bool: Field = {
  schema: { type: 'boolean' },
  check(value, at) {
    if (typeof value !== 'boolean') throw new FieldProblem(at, 'it must be true or false');
  },
};

export function oneOf(values: readonly (string | number | boolean)[]): Field {
  return {
    schema: { enum: values },
    check(value, at) {
      if (!values.some((one) => one === value))
        throw new FieldProblem(at, `it must be one of ${values.join(', ')}${suggestion(value, values)}`);
    },
  };
}

function suggestion(value: unknown, values: readonly (string | number | boolean)[]): string {
  const close = typeof value === 'string' ? nearest(value, values.map(String)) : undefined;
  return close === undefined ? '' : `; did you mean ${close}?`;
}

/** C0 and C1 controls but the line feed. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROLS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/;

/** Text of 1..`units` UTF-16 code units, or of none where `empty`; `more` says what else is wrong with it. */
export function text(
  units: number,
  more: (value: string) => string | undefined = () => undefined,
  empty = true,
): Field {
  return {
    schema: { type: 'string', maxLength: units, ...(empty ? {} : { minLength: 1 }) },
    check(value, at) {
      if (typeof value !== 'string') throw new FieldProblem(at, 'it must be a text');
      if (value.length > units) throw new FieldProblem(at, `it has ${value.length} code units, ${units} are the limit`);
      if (!empty && value === '') throw new FieldProblem(at, 'it is empty');
      if (!value.isWellFormed()) throw new FieldProblem(at, 'it holds half of a surrogate pair');
      if (CONTROLS.test(value)) throw new FieldProblem(at, 'it holds a control character');
      const problem = more(value);
      if (problem !== undefined) throw new FieldProblem(at, problem);
    },
  };
}

export function pattern(expression: RegExp, says: string, units = 128): Field {
  return {
    schema: { type: 'string', maxLength: units, pattern: expression.source },
    check(value, at) {
      if (typeof value !== 'string' || value.length > units || !expression.test(value))
        throw new FieldProblem(at, says);
    },
  };
}

export function list(item: Field, least: number, most: number): Field {
  return {
    schema: { type: 'array', items: item.schema, minItems: least, maxItems: most },
    check(value, at) {
      if (!Array.isArray(value)) throw new FieldProblem(at, 'it must be a list');
      if (value.length < least || value.length > most)
        throw new FieldProblem(
          at,
          `it has ${value.length} items; ${least === 0 ? `${most} are the limit` : `${least} to ${most} are right`}`,
        );
      // Holes of a list are undefined here, and refused by the item.
      for (let index = 0; index < value.length; index += 1) item.check(value[index], `${at}/${index}`);
    },
  };
}

export function tuple(...items: readonly Field[]): Field {
  return {
    schema: { type: 'array', items: items.map(({ schema }) => schema), minItems: items.length, maxItems: items.length },
    check(value, at) {
      if (!Array.isArray(value) || value.length !== items.length)
        throw new FieldProblem(at, `it must be a list of ${items.length}`);
      for (const [index, item] of items.entries()) item.check(value[index], `${at}/${index}`);
    },
  };
}

export function record(required: readonly string[], fields: Fields): Field {
  return {
    schema: {
      type: 'object',
      additionalProperties: false,
      required,
      properties: Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema])),
    },
    check(value, at) {
      checkMembers(value, at, required, fields);
    },
  };
}

/** Members by their fields: the first that is unknown, missing or wrong is the problem. */
export function checkMembers(value: unknown, at: string, required: readonly string[], fields: Fields): void {
  if (!isObject(value)) throw new FieldProblem(at, 'it must be an object');
  for (const name of Object.keys(value)) {
    const member = `${at}/${pointer(name)}`;
    if (!Object.hasOwn(fields, name))
      throw new FieldProblem(member, `there is no member ${name.slice(0, 64)}${suggestion(name, Object.keys(fields))}`);
    fields[name]!.check(value[name], member);
  }
  for (const name of required) if (value[name] === undefined) throw new FieldProblem(`${at}/${name}`, 'it is missing');
}

/** One of several shapes, told apart by a member. */
export function variants(
  member: string,
  shapes: Readonly<Record<string, { readonly required: readonly string[]; readonly fields: Fields }>>,
): Field {
  const names = Object.keys(shapes);
  const kind = oneOf(names);
  return {
    schema: {
      oneOf: names.map((name) => {
        const { required, fields } = shapes[name]!;
        return record([member, ...required], { [member]: oneOf([name]), ...fields }).schema;
      }),
    },
    check(value, at) {
      if (!isObject(value)) throw new FieldProblem(at, 'it must be an object');
      if (value[member] === undefined) throw new FieldProblem(`${at}/${member}`, 'it is missing');
      kind.check(value[member], `${at}/${member}`);
      const { required, fields } = shapes[value[member] as string]!;
      checkMembers(value, at, required, { [member]: kind, ...fields });
    },
  };
}

const pointer = (name: string): string => name.slice(0, 64).replaceAll('~', '~0').replaceAll('/', '~1');
