import { CoreError } from '../../contract/errors.ts';
import type { SpeechGrammar } from '../../services/speech.ts';

/** Comments, quoted words and tags. */
const UNREAD = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:[^"\\]|\\.)*"|\{[^{}]*\}/g;

/**
 * Throws PARAMS_INVALID where a rule is used that the grammar has not, `<command>` first of all: recognisers take such
 * a rule for silence.
 */
export function checkRules({ jsgf }: SpeechGrammar): void {
  const plain = jsgf.replaceAll(UNREAD, ' ');
  const defined = new Set([...plain.matchAll(/<([^<>]+)>\s*=/g)].map(([, name]) => name));
  const used = ['command', ...[...plain.matchAll(/<([^<>.]+)>/g)].map(([, name]) => name!)];
  const missing = used.find((name) => !defined.has(name) && name !== 'NULL' && name !== 'VOID');
  if (missing === undefined) return;
  throw new CoreError('PARAMS_INVALID', { where: 'grammar', reason: `it has no rule <${missing}>` });
}
