/** Type strings of functions (`string int number bool object array bytes any`, each with an optional `?`) as JSON Schema, for the form. */

import type { Schema } from '@device-core/plugin-api/inside/schema-reader';

export type { Schema };

const SCHEMAS: Readonly<Record<string, Schema>> = {
  string: { type: 'string' },
  // Its limits, 2^53, say nothing to who reads them.
  int: { type: 'integer' },
  number: { type: 'number' },
  bool: { type: 'boolean' },
  object: { type: 'object' },
  array: { type: 'array' },
  bytes: { type: 'string', contentEncoding: 'base64' },
  any: {},
};

/** Schema of a type; an unknown type gets a field for JSON, and the Core judges the value. */
export function schemaOfType(text: string): { readonly schema: Schema; readonly optional: boolean } {
  const optional = text.endsWith('?');
  const name = optional ? text.slice(0, -1) : text;
  return { schema: Object.hasOwn(SCHEMAS, name) ? SCHEMAS[name]! : {}, optional };
}

/** Schema of all inputs; `describe` gives the words under a field. */
export function schemaOfTypes(
  types: Readonly<Record<string, string>> = {},
  describe: (type: string) => string | undefined = () => undefined,
): Schema {
  const required: string[] = [];
  const properties: Record<string, Schema> = {};
  for (const [name, text] of Object.entries(types)) {
    const { schema, optional } = schemaOfType(text);
    const description = describe(text.replace(/\?$/, ''));
    properties[name] = description === undefined ? schema : { ...schema, description };
    if (!optional) required.push(name);
  }
  return { type: 'object', additionalProperties: false, required, properties };
}
