/** The keys that a schema tells of, each with the schema of its value. Pure. */
import { isObject, isSecret, propertiesOf } from '@device-core/plugin-api/inside/schema-reader';
import type { JsonSchema } from '@device-core/plugin-api/services/operations';

export interface SchemaKey {
  /** Dotted, as in the section. */
  readonly name: string;
  /** It can be used by itself: definitions of the whole come along where it refers to them. */
  readonly schema: JsonSchema;
  /** Its value is never shown. */
  readonly secret: boolean;
}

/** A key has no more segments. */
const DEPTH = 8;
const MOST_KEYS = 1000;

const known = new WeakMap<object, readonly SchemaKey[]>();

/** Keys in the order of the schema. An object with described members is no key, but its members are. */
export function keysOf(schema: JsonSchema): readonly SchemaKey[] {
  const found = known.get(schema);
  if (found) return found;
  const keys: SchemaKey[] = [];
  collect(schema, schema, [], keys, false);
  known.set(schema, keys);
  return keys;
}

function collect(
  part: JsonSchema,
  root: JsonSchema,
  path: readonly string[],
  into: SchemaKey[],
  secret: boolean,
): void {
  for (const [name, inner] of Object.entries(propertiesOf(part))) {
    if (into.length >= MOST_KEYS) return;
    const schema = isObject(inner) ? inner : {};
    const hidden = secret || isSecret(schema);
    const here = [...path, name];
    if (nests(schema) && here.length < DEPTH) collect(schema, root, here, into, hidden);
    else into.push({ name: here.join('.'), schema: alone(schema, root), secret: hidden || holdsSecret(schema, 0) });
  }
}

/** Has it members that are listed, and no others? */
function nests(schema: JsonSchema): boolean {
  const closed = schema.additionalProperties === undefined || schema.additionalProperties === false;
  return closed && !('patternProperties' in schema) && Object.keys(propertiesOf(schema)).length > 0;
}

function alone(schema: JsonSchema, { $defs, definitions }: JsonSchema): JsonSchema {
  if (!JSON.stringify(schema).includes('"$ref"')) return schema;
  return { ...schema, ...(isObject($defs) && { $defs }), ...(isObject(definitions) && { definitions }) };
}

/** One secret within makes the whole value one: it is not taken apart. */
function holdsSecret(schema: unknown, depth: number): boolean {
  if (!isObject(schema) || depth > 16) return false;
  if (isSecret(schema)) return true;
  const inner = [...Object.values(propertiesOf(schema)), schema.items, schema.additionalProperties];
  return inner.some((one) => holdsSecret(one, depth + 1));
}
