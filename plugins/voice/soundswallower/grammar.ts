/** The grammars that decoders get: sentences, phrases among anything, anything. */
import type { SpeechGrammar } from '@device-core/plugin-api/services/speech';

/** Prefixes of added rules, and of the words that stand for a single sound. */
const OWN = 'dc_';
const SOUND = '_';

/** A sentence of the grammar, after one of the phrases or not, or such a phrase alone. */
export function sentences(grammar: SpeechGrammar, prefixes: readonly string[]): string {
  const inner = grammar.jsgf.replace(/\bpublic\s+(?=<)/g, '');
  if (prefixes.length === 0) return `${inner}\npublic <${OWN}said> = <command>;\n`;
  const before = prefixes.map((phrase) => `(${phrase})`).join(' | ');
  return `${inner}\n<${OWN}prefix> = ${before};\npublic <${OWN}said> = [<${OWN}prefix>] <command> | <${OWN}prefix>;\n`;
}

/** Anything, and one of the phrases at its end. */
export function phrasesAfterAnything(phrases: readonly string[], sounds: readonly string[]): string {
  const wanted = phrases.map((phrase) => `(${phrase})`).join(' | ');
  const any = sounds.map(soundWord).join(' | ');
  return `#JSGF V1.0 UTF-8;\ngrammar phrases;\n<any> = ${any};\npublic <said> = <any>* (${wanted});\n`;
}

/** Whatever may be said, one sound after the other: what a sentence must be better than. */
export function anything(sounds: readonly string[]): string {
  return `#JSGF V1.0 UTF-8;\ngrammar anything;\n<any> = ${sounds.map(soundWord).join(' | ')};\npublic <said> = <any>*;\n`;
}

export function soundWord(sound: string): string {
  return `${SOUND}${sound.toLowerCase()}${SOUND}`;
}

/** The text without the phrase that it begins with, the longest of those that fit. */
export function withoutPrefix(text: string, prefixes: readonly string[]): string {
  const fitting = prefixes.filter((phrase) => text === phrase || text.startsWith(`${phrase} `));
  const longest = fitting.reduce((best, phrase) => (phrase.length > best.length ? phrase : best), '');
  return text.slice(longest.length).trim();
}

/** Lower case, single spaces, nothing but letters, digits, apostrophes and hyphens. */
export function plainWords(phrase: string): readonly string[] {
  return (
    phrase
      .toLowerCase()
      .match(/[\p{L}\p{N}'’-]+/gu)
      ?.map((word) => word.replaceAll('’', "'")) ?? []
  );
}
