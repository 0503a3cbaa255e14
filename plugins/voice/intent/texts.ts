/** The languages in which the device has sentences and answers of its own. */
import type { DeviceTexts } from './device-texts.ts';
import type { Forgiven } from './forgiven.ts';
import { GERMAN } from './texts-de.ts';
import { ENGLISH } from './texts-en.ts';
import { FRENCH } from './texts-fr.ts';

export const LANGUAGES: readonly DeviceTexts[] = [ENGLISH, GERMAN, FRENCH];

/** The table of a language as `baseLanguage` gives it; undefined where there is none. */
export function forgivenOf(language: string): Forgiven | undefined {
  return LANGUAGES.find((texts) => texts.language === language)?.forgiven;
}
