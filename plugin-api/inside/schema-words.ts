/** Words that schemas of plugin configurations may use beside those of JSON Schema. */
import type { FuncKeywordDefinition, SchemaValidateFunction } from 'ajv';
import { firstUnseen } from '../kits/characters.ts';
import { memberAt } from './schema-reader.ts';

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

/**
 * `skuOnly: true` of a member: whoever holds `system.config` cannot set it on the device. What is trusted, run or
 * listened on is the SKU's word.
 */
export const SKU_ONLY = 'skuOnly';

/** `live: true` of a member: setup() of the plugin returns what takes a change of it, so that nothing restarts for it. */
export const LIVE = 'live';

/** Does the schema of a plugin's configuration keep this member, `trust` or `trust.keys`, for the SKU? Pure. */
export function isSkuOnly(schema: unknown, member: string): boolean {
  return isMarked(schema, member, SKU_ONLY);
}

/** Can a plugin take a change of this member while it runs? Pure. */
export function isLive(schema: unknown, member: string): boolean {
  return isMarked(schema, member, LIVE);
}

/** Do two configurations differ, and in nothing but members that are live? They are JSON. Pure. */
export function isLiveChange(schema: unknown, was: object, is: object): boolean {
  const members = [...new Set([...Object.keys(was), ...Object.keys(is)])];
  const changed = members.filter((name) => JSON.stringify(Object(was)[name]) !== JSON.stringify(Object(is)[name]));
  return changed.length > 0 && changed.every((name) => isLive(schema, name));
}

function isMarked(schema: unknown, member: string, word: string): boolean {
  let at: unknown = schema;
  for (const name of member.split('.')) {
    at = memberAt(at, [name]);
    if (Object(at)[word] === true) return true;
  }
  return false;
}

/**
 * `plainText: line` of a text that a person is shown: no controls, line breaks, marks of direction or other characters
 * that are not seen, and not blanks alone. `plainText: lines`: line breaks may stand in it. Joiners of emoji and of
 * letters may stand in both.
 */
export const PLAIN_TEXT = 'plainText';

const plain: SchemaValidateFunction = (form: 'line' | 'lines', text: string) => {
  const reason = textFault(text, form);
  plain.errors = reason === undefined ? [] : [{ keyword: PLAIN_TEXT, params: { form }, message: reason }];
  return reason === undefined;
};

/** Why a text cannot be shown as it is; undefined where it can. */
export function textFault(text: string, form: 'line' | 'lines'): string | undefined {
  const found = firstUnseen(text, { lines: form === 'lines' });
  if (found) return `must have no characters that are not seen: character ${found.before + 1} is ${found.sign}`;
  return form === 'line' && text !== '' && text.trim() === '' ? 'must not consist of blanks alone' : undefined;
}

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
  {
    keyword: PLAIN_TEXT,
    type: 'string',
    schemaType: 'string',
    errors: 'full',
    metaSchema: { enum: ['line', 'lines'] },
    validate: plain,
  },
  { keyword: SKU_ONLY, metaSchema: { const: true }, validate: () => true },
  { keyword: LIVE, metaSchema: { const: true }, validate: () => true },
];
