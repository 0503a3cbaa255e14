/** Values of the simplest schemas, as those of flags are, looked at without the compiler of schemas: it takes 1.5 MB, and a start. Pure. */
import type { JsonSchema } from '@device-core/plugin-api/services/operations';

type Word = (given: unknown, value: unknown) => boolean;

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  boolean: (value) => typeof value === 'boolean',
  integer: Number.isInteger,
  number: Number.isFinite,
  string: (value) => typeof value === 'string',
};
const count: (value: unknown) => value is number = (value): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0;
const text = (given: unknown) => typeof given === 'string';

/** False where the word itself is none, too. */
const WORDS: Readonly<Record<string, Word>> = {
  type: (given, value) => typeof given === 'string' && Object.hasOwn(TYPES, given) && TYPES[given]!(value),
  enum: (given, value) => Array.isArray(given) && new Set(given).size === given.length && given.includes(value),
  minimum: (given, value) => Number.isFinite(given) && typeof value === 'number' && value >= Number(given),
  maximum: (given, value) => Number.isFinite(given) && typeof value === 'number' && value <= Number(given),
  // A character may be two units; who has more units than that is asked elsewhere.
  maxLength: (given, value) => count(given) && typeof value === 'string' && value.length <= given,
  default: () => true,
  description: text,
};

/** True: the schema is one, and the value fits. False says nothing: the compiler knows. */
export function fitsPlainly(schema: JsonSchema, value: unknown): boolean {
  const given = Object.entries(schema);
  return 'type' in schema && given.every(([word, said]) => Object.hasOwn(WORDS, word) && WORDS[word]!(said, value));
}
