import { choicesOf, membersOf } from '@device-core/plugin-api/inside/schema-reader';
import type { JsonSchema } from '@device-core/plugin-api/services/operations';
import { code, table } from './markdown.ts';

type Row = readonly [name: string, type: string, required: string, meaning: string];

const CONSTRAINTS: Readonly<Record<string, (value: unknown) => string>> = {
  minimum: (value) => `>= ${value}`,
  exclusiveMinimum: (value) => `> ${value}`,
  maximum: (value) => `<= ${value}`,
  minLength: (value) => `at least ${value} characters`,
  maxLength: (value) => `at most ${value} characters`,
  minItems: (value) => `at least ${value}`,
  maxItems: (value) => `at most ${value}`,
  pattern: (value) => code(String(value)),
  default: (value) => `default ${code(JSON.stringify(value))}`,
};

/** Members of an object schema as a table, nested ones by their path; undefined where there are none. */
export function schemaTable(schema: JsonSchema, options: { readonly required?: boolean } = {}): string | undefined {
  const rows = members(schema, '');
  if (rows.length === 0) return undefined;
  const headers = ['member', 'type', 'required', 'meaning'];
  if (options.required !== false) return table(headers, rows);
  return table(
    headers.filter((_, index) => index !== 2),
    rows.map((row) => row.filter((_, index) => index !== 2)),
  );
}

function members(schema: JsonSchema, prefix: string): Row[] {
  return membersOf(schema).flatMap(({ name, schema: member, required }) => {
    const path = `${prefix}${name}`;
    const row: Row = [code(path), typeOf(member), required ? 'yes' : '', meaningOf(member)];
    const items = member.items as JsonSchema | undefined;
    const values = member.additionalProperties as JsonSchema | boolean | undefined;
    const nested = [
      ...members(member, `${path}.`),
      ...(items ? members(items, `${path}[].`) : []),
      ...(typeof values === 'object' ? members(values, `${path}.<name>.`) : []),
    ];
    return [row, ...nested];
  });
}

function typeOf(schema: JsonSchema): string {
  const values = choicesOf(schema);
  if (values) return either(values.map((value) => code(JSON.stringify(value))));
  const choices = (schema.anyOf ?? schema.oneOf) as readonly JsonSchema[] | undefined;
  if (choices) return choices.map(typeOf).join(' or ');
  if (schema.type === 'array' && schema.items) return `array of ${typeOf(schema.items as JsonSchema)}`;
  if (Array.isArray(schema.type)) return schema.type.join(' or ');
  return typeof schema.type === 'string' ? schema.type : 'any';
}

function meaningOf(schema: JsonSchema): string {
  const limits = Object.entries(CONSTRAINTS).flatMap(([key, say]) => (key in schema ? [say(schema[key])] : []));
  const description = typeof schema.description === 'string' ? schema.description.replace(/\.$/, '') : '';
  if (description === '' || limits.length === 0) return description || limits.join(', ');
  return `${description} (${limits.join(', ')})`;
}

/** Two, three: with `or`. More are a list. */
function either(values: readonly string[]): string {
  return values.length > 4 ? `one of ${values.join(', ')}` : values.join(' or ');
}
