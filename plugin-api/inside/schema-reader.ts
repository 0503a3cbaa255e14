/**
 * The one reader of JSON Schemas for forms, commands, settings and pages of the reference: members, choices, items, kinds
 * and secrets. Validation is Ajv's. Without imports: browsers load it, too. Pure.
 */

export type Schema = Readonly<Record<string, unknown>>;

export interface Member {
  readonly name: string;
  readonly schema: Schema;
  readonly required: boolean;
}

/** `text` are bytes that a person types as text; `json` has no type of its own. */
export type Kind =
  | 'array'
  | 'boolean'
  | 'bytes'
  | 'choice'
  | 'integer'
  | 'json'
  | 'number'
  | 'object'
  | 'string'
  | 'text';

const KINDS: ReadonlySet<unknown> = new Set<Kind>(['array', 'boolean', 'integer', 'number', 'object', 'string']);
/** References in each other; a circle ends there. */
const MOST_REFS = 8;

export const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Schemas of the members of an object, by their names. */
export function propertiesOf(schema: unknown): Readonly<Record<string, Schema>> {
  const properties = isObject(schema) ? schema.properties : undefined;
  return isObject(properties) ? (properties as Readonly<Record<string, Schema>>) : {};
}

/** Names of the members that must be there. */
export function requiredOf({ required }: Schema): readonly string[] {
  return Array.isArray(required) ? required : [];
}

/** Members in the order of the schema; one that is `true` may be anything. */
export function membersOf(schema: Schema): readonly Member[] {
  const must = requiredOf(schema);
  return Object.entries(propertiesOf(schema)).map(([name, one]) => ({
    name,
    schema: isObject(one) ? one : {},
    required: must.includes(name),
  }));
}

/** Schema of a member by its path; undefined where the schema has none. Names of prototypes are no members. */
export function memberAt(schema: unknown, path: readonly string[]): unknown {
  let at = schema;
  for (const name of path) {
    const properties = propertiesOf(at);
    at = Object.hasOwn(properties, name) ? properties[name] : undefined;
  }
  return at;
}

export function itemsOf({ items }: Schema): Schema {
  return isObject(items) ? items : {};
}

/** Values of `enum` or `const`; undefined where others fit, too. */
export function choicesOf(schema: Schema): readonly unknown[] | undefined {
  if (Array.isArray(schema.enum)) return schema.enum;
  return 'const' in schema ? [schema.const] : undefined;
}

export function kindOf(schema: Schema = {}): Kind {
  if (choicesOf(schema)) return 'choice';
  const type = [schema.type].flat().find((one) => one !== 'null');
  if (type === 'string' && schema.contentEncoding === 'base64')
    return String(schema.contentMediaType ?? '').startsWith('text/') ? 'text' : 'bytes';
  return KINDS.has(type) ? (type as Kind) : 'json';
}

/** Can one word of a command line say each value? */
export function isWord(schema: Schema | undefined): boolean {
  return ['string', 'integer', 'number', 'choice'].includes(kindOf(schema));
}

/** A value that is written and never shown. */
export function isSecret({ secret, writeOnly, format }: Schema): boolean {
  return secret === true || writeOnly === true || format === 'password';
}

/** Follows `$ref` within the whole schema. Words beside it, as a description, stay. */
export function resolved(schema: unknown, root: Schema): Schema {
  let found: Schema = isObject(schema) ? schema : {};
  for (let turn = 0; typeof found.$ref === 'string' && turn < MOST_REFS; turn++) {
    const { $ref, ...beside } = found;
    let at: unknown = root;
    for (const name of ($ref as string).split('/').slice(1)) at = isObject(at) ? at[unescaped(name)] : undefined;
    if (!isObject(at)) return beside;
    found = { ...at, ...beside };
  }
  return found;
}

function unescaped(name: string): string {
  try {
    return decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return name;
  }
}
