/**
 * Strings of the page, in the language of the browser or the one that was chosen, by room: `locales/<language>.json` has
 * those of the shell and the start page, `locales/pages/<language>.json` those of the other pages. A browser loads
 * those that it shows.
 */
import { computed, signal } from '@preact/signals';
import type shell from '../locales/en.json';
import type pages from '../locales/pages/en.json';

export const LANGUAGES = { en: 'English', de: 'Deutsch', fr: 'Français' } as const;
export type Language = keyof typeof LANGUAGES;
type Rooms = typeof shell & typeof pages;
const texts: Partial<Record<Language, Partial<Rooms>>> = {};
export type Values = Readonly<Record<string, string | number>>;

const KEY = 'device.language';
const isLanguage = (value: string | null | undefined): value is Language => value != null && value in LANGUAGES;

function first(): Language {
  const chosen = localStorage.getItem(KEY);
  if (isLanguage(chosen)) return chosen;
  return navigator.languages.map((one) => one.slice(0, 2)).find(isLanguage) ?? 'en';
}

async function load(one: Language, folder = ''): Promise<void> {
  const { default: rooms } = await import(`../locales/${folder}${one}.json`, { with: { type: 'json' } });
  texts[one] = { ...texts[one], ...rooms };
}

const begun = first();
await load(begun);
export const language = signal<Language>(begun);
/** For Intl: the language of the strings with the region of the browser where they agree. */
export const locale = computed(
  () => navigator.languages.find((one) => one.startsWith(language.value)) ?? language.value,
);

let ofPages: Promise<void> | undefined;

/** Loads the strings of the pages behind the start page, once. */
export function pagesText(): Promise<void> {
  ofPages ??= load(language.value, 'pages/').catch((error) => {
    ofPages = undefined; // the next page tries again
    throw error;
  });
  return ofPages;
}

/** Rejects where the strings cannot be loaded; the page keeps its language then. */
export async function chooseLanguage(chosen: Language): Promise<void> {
  await Promise.all([load(chosen), ofPages && load(chosen, 'pages/')]);
  localStorage.setItem(KEY, chosen);
  language.value = chosen;
}

/** `{name}` in a string is the value of that name. A string `one|many` is chosen by `n`. */
export function catalogue<R extends keyof Rooms>(room: R) {
  return (key: keyof Rooms[R] & string, values: Values = {}): string => {
    const text = (texts[language.value]![room] as Readonly<Record<string, string>>)[key]!;
    const plural = typeof values.n === 'number' && text.includes('|');
    const [one = '', many = one] = plural ? text.split('|') : [text];
    const chosen = plural && new Intl.PluralRules(locale.value).select(values.n as number) !== 'one' ? many : one;
    return chosen.replace(/\{(\w+)\}/g, (whole, name: string) => {
      const value = values[name];
      return value === undefined ? whole : typeof value === 'number' ? number(value) : value;
    });
  };
}

/** The string of a room as it stands; undefined where there is none. */
export function stringOf(room: string, key: string): string | undefined {
  const strings = texts[language.value]?.[room as keyof Rooms] as Readonly<Record<string, string>> | undefined;
  return strings !== undefined && Object.hasOwn(strings, key) ? strings[key] : undefined;
}

/** Text that is not of this page, for all languages or for each. */
export type Words = string | { readonly en: string; readonly de?: string; readonly fr?: string };
export const said = (words: Words): string => (typeof words === 'string' ? words : (words[language.value] ?? words.en));

const number = (value: number): string =>
  new Intl.NumberFormat(locale.value, { maximumFractionDigits: 2 }).format(value);
