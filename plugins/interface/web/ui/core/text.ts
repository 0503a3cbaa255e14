/**
 * Strings of the page, in the language of the browser or the one that was chosen: `locales/<language>.json` has them by
 * room, with the same keys.
 */
import { computed, signal } from '@preact/signals';
import de from '../locales/de.json' with { type: 'json' };
import en from '../locales/en.json' with { type: 'json' };
import fr from '../locales/fr.json' with { type: 'json' };

export const LANGUAGES = { en: 'English', de: 'Deutsch', fr: 'Français' } as const;
export type Language = keyof typeof LANGUAGES;
const TEXTS: Readonly<Record<Language, typeof en>> = { en, de, fr };
export type Values = Readonly<Record<string, string | number>>;

const KEY = 'device.language';
const isLanguage = (value: string | null | undefined): value is Language => value != null && value in LANGUAGES;

function first(): Language {
  const chosen = localStorage.getItem(KEY);
  if (isLanguage(chosen)) return chosen;
  return navigator.languages.map((one) => one.slice(0, 2)).find(isLanguage) ?? 'en';
}

export const language = signal<Language>(first());
/** For Intl: the language of the strings with the region of the browser where they agree. */
export const locale = computed(
  () => navigator.languages.find((one) => one.startsWith(language.value)) ?? language.value,
);

export function chooseLanguage(chosen: Language): void {
  localStorage.setItem(KEY, chosen);
  language.value = chosen;
}

/** `{name}` in a string is the value of that name. A string `one|many` is chosen by `n`. */
export function catalogue<R extends keyof typeof en>(room: R) {
  return (key: keyof (typeof en)[R] & string, values: Values = {}): string => {
    const text = (TEXTS[language.value][room] as Readonly<Record<string, string>>)[key]!;
    const plural = typeof values.n === 'number' && text.includes('|');
    const [one = '', many = one] = plural ? text.split('|') : [text];
    const chosen = plural && new Intl.PluralRules(locale.value).select(values.n as number) !== 'one' ? many : one;
    return chosen.replace(/\{(\w+)\}/g, (whole, name: string) => {
      const value = values[name];
      return value === undefined ? whole : typeof value === 'number' ? number(value) : value;
    });
  };
}

/** Text that is not of this page, for all languages or for each. */
export type Words = string | { readonly en: string; readonly de?: string; readonly fr?: string };
export const said = (words: Words): string => (typeof words === 'string' ? words : (words[language.value] ?? words.en));

const number = (value: number): string =>
  new Intl.NumberFormat(locale.value, { maximumFractionDigits: 2 }).format(value);
