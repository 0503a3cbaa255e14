import type { JsonSchema } from '../../contract/json-schema.ts';

/** A schema of an object that takes nothing else. */
export function exactly(properties: JsonSchema, required: readonly string[] = Object.keys(properties)): JsonSchema {
  return { type: 'object', additionalProperties: false, required, properties };
}
