/** Words that schemas of plugin configurations may use beside those of JSON Schema. */
import type { FuncKeywordDefinition, SchemaValidateFunction } from 'ajv';

/** `uniqueItemProperties: [name]` of an array: no two of its items have the same `name`. */
export const UNIQUE_ITEM_PROPERTIES = 'uniqueItemProperties';

const unique: SchemaValidateFunction = (names: readonly string[], items: readonly unknown[], _schema, data) => {
  const errors: NonNullable<SchemaValidateFunction['errors']> = [];
  for (const name of names) {
    const first = new Map<unknown, number>();
    for (const [index, item] of items.entries()) {
      const value: unknown = Object(item)[name];
      if (value === undefined) continue;
      const other = first.get(value);
      if (other === undefined) first.set(value, index);
      else
        errors.push({
          keyword: UNIQUE_ITEM_PROPERTIES,
          instancePath: `${data?.instancePath ?? ''}/${index}/${name}`,
          params: { name, index, other },
          message: `is ${JSON.stringify(value)}, and so is that of item ${other}`,
        });
    }
  }
  unique.errors = errors;
  return errors.length === 0;
};

/** For the option `keywords` of Ajv. */
export const SCHEMA_WORDS: FuncKeywordDefinition[] = [
  {
    keyword: UNIQUE_ITEM_PROPERTIES,
    type: 'array',
    schemaType: 'array',
    errors: 'full',
    metaSchema: { type: 'array', items: { type: 'string' } },
    validate: unique,
  },
];
