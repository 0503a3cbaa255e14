import { de } from './de.ts';
import { en } from './en.ts';
import { fr } from './fr.ts';
import type { Strings } from './strings.ts';

export type { QuestionWords, Strings } from './strings.ts';

export const LANGUAGES: Readonly<Record<string, Strings>> = { en, de, fr };

/** English where the language has no words here. */
export function stringsOf(locale: string): Strings {
  return LANGUAGES[locale.toLowerCase().split(/[-_]/)[0] ?? ''] ?? en;
}
