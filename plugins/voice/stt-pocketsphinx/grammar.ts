/** The grammar of a device as PocketSphinx is to hear it: perhaps after a wake phrase, and beside garbage. */
import { GARBAGE } from './decoder.ts';

const HEADER = /^\uFEFF?\s*#JSGF[^;\n]*;?[^\n]*\n\s*grammar[^;]*;/i;

/**
 * The first public rule is the one that counts. A loop goes back to where its rule begins: without a phone of its own
 * before it, garbage could go over into a command.
 */
export function withGarbage(jsgf: string, prefix: readonly string[]): string {
  const rules = jsgf.replace(HEADER, '').replace(/\bpublic\s+</g, '<');
  const phones = GARBAGE.join(' | ');
  const before = prefix.length === 0 ? '' : `[${prefix.join(' | ')}] `;
  return [
    '#JSGF V1.0;',
    'grammar device;',
    `public <heard> = ${before}<command> | <garbage>;`,
    `<garbage> = (${phones}) <more_garbage>;`,
    `<more_garbage> = <NULL> | (${phones}) <more_garbage>;`,
    rules.trim(),
    '',
  ].join('\n');
}

/** Undefined: it was garbage, or only a phrase before a command. */
export function commandOf(text: string, prefix: readonly string[]): string | undefined {
  const words = text.trim();
  if (words === '' || words.split(/\s+/).some((word) => word.startsWith('_'))) return undefined;
  const phrase = prefix.find((one) => words.startsWith(`${one} `));
  return phrase === undefined ? words : words.slice(phrase.length + 1).trim();
}
