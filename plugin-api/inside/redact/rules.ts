/** A SKU adds rules of redaction as data, and each is checked before use. */
import { CoreError, reasonOf } from '../../contract/errors.ts';
import { useNames, wordsOf } from './keys.ts';
import { checkPattern } from './pattern.ts';
import { useTexts } from './text.ts';

export interface TextRule {
  /** The kind of text that it finds, for people: `customer number`. */
  readonly name: string;
  /** A regular expression in which each repetition has an end. */
  readonly pattern: string;
  readonly ignoreCase?: boolean;
}

export interface RedactionRules {
  /** Names of members whose values are hidden, numbers as well: `customer number` is found in `customerNumber` and `X-Customer-Number`. */
  readonly names?: readonly string[];
  readonly texts?: readonly TextRule[];
}

/**
 * From now on in this thread, for everything that is redacted here: lines of the Core and of plugins in workers and
 * processes, output of apps. One owner at a time. Throws PARAMS_INVALID with the rule that cannot be used, and then
 * uses none of them.
 */
export function useRedaction({ names = [], texts = [] }: RedactionRules): Disposable {
  const patterns = texts.map(({ name, pattern, ignoreCase = false }) => {
    try {
      checkPattern(pattern);
      return new RegExp(pattern, ignoreCase ? 'giu' : 'gu');
    } catch (error) {
      throw new CoreError('PARAMS_INVALID', { where: `the rule ${JSON.stringify(name)}`, reason: reasonOf(error) });
    }
  });
  const words = names.map((name) => {
    const found = wordsOf(name);
    if (found.length > 0) return found;
    throw new CoreError('PARAMS_INVALID', { where: `the name ${JSON.stringify(name)}`, reason: 'it has no words' });
  });
  useNames(words);
  useTexts(patterns);
  return {
    [Symbol.dispose]: () => {
      useNames([]);
      useTexts([]);
    },
  };
}
