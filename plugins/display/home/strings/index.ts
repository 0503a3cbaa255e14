import { de } from './de.ts';
import { en } from './en.ts';
import { fr } from './fr.ts';
import type { Strings } from './strings.ts';

export type { Strings } from './strings.ts';

export const LANGUAGES: Readonly<Record<string, Strings>> = { en, de, fr };

const languageOf = (locale: string): string => locale.toLowerCase().split(/[-_]/)[0] ?? '';

/** The locale for figures and units that stand among words of the catalogue. */
export function localeOfWords(locale: string): string {
  return Object.hasOwn(LANGUAGES, languageOf(locale)) ? locale : 'en';
}

/** English where the language has no words here. */
export function stringsOf(locale: string): Strings {
  return LANGUAGES[languageOf(locale)] ?? en;
}
