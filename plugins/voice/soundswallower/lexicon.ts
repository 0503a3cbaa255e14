/** How words are pronounced: as the model's dictionary says, else as their letters suggest. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreError, reasonOf } from '@device-core/plugin-api';
import { pronounceEnglish } from './letters-en.ts';
import { pronounceFrench } from './letters-fr.ts';
import type { Model } from './library.ts';

const LETTERS: Readonly<Record<string, (word: string) => string | undefined>> = {
  en: pronounceEnglish,
  fr: pronounceFrench,
};
/** Words whose pronunciations are kept. */
const KEPT = 5_000;
/** Letters of the longest word whose pronunciation is guessed. */
const MOST_LETTERS = 40;
/** Letters of the shortest word that a longer one may be put together from: shorter ones are in many words by chance. */
const LEAST_PART = 3;

export class Lexicon {
  readonly #dictionary: string;
  readonly #letters: (word: string) => string | undefined;
  readonly #found = new Map<string, readonly string[]>();

  /** `dictionary`: lines of a word and its phones; a further pronunciation of `word` stands below it as `word(2)`. */
  constructor(dictionary: string, language: string) {
    this.#dictionary = `\n${dictionary}`;
    this.#letters = LETTERS[language] ?? (() => undefined);
  }

  /** Throws MODEL_INVALID. */
  static async of(model: Model): Promise<Lexicon> {
    const path = join(model.folder, 'dict.txt');
    try {
      return new Lexicon(await readFile(path, 'utf8'), model.language);
    } catch (error) {
      throw new CoreError('MODEL_INVALID', { path, reason: reasonOf(error) }, { cause: error });
    }
  }

  /** At least one, phones with spaces between. Throws PARAMS_INVALID where the word has none. */
  pronounce(word: string): readonly string[] {
    const found = this.#pronunciations(word);
    if (found.length === 0)
      throw new CoreError('PARAMS_INVALID', { where: 'words', reason: `${word} has no pronunciation` });
    return found;
  }

  /** The letters come first: the dictionary is a text of megabytes. */
  isSpeakable(word: string): boolean {
    return this.#parts(word) !== undefined || this.#pronunciations(word).length > 0;
  }

  #pronunciations(word: string): readonly string[] {
    const known = this.#found.get(word);
    if (known) return known;
    const found = this.#lookUp(word);
    const pronunciations = found.length > 0 ? found : this.#guesses(word);
    if (this.#found.size >= KEPT) this.#found.clear();
    this.#found.set(word, pronunciations);
    return pronunciations;
  }

  /** For a decoder: `[the, DH AH], [the(2), DH IY]`. */
  entries(words: Iterable<string>): readonly (readonly [word: string, phones: string])[] {
    return [...words].flatMap((word) =>
      this.pronounce(word).map((phones, index) => [index === 0 ? word : `${word}(${index + 1})`, phones] as const),
    );
  }

  #lookUp(word: string): readonly string[] {
    const found: string[] = [];
    let at = this.#dictionary.indexOf(`\n${word} `);
    while (at >= 0) {
      const end = this.#dictionary.indexOf('\n', at + 1);
      const line = this.#dictionary.slice(at + 1, end < 0 ? undefined : end);
      found.push(line.slice(line.indexOf(' ')).trim());
      at = end >= 0 && this.#dictionary.startsWith(`${word}(`, end + 1) ? end : -1;
    }
    return found;
  }

  /** Pronunciations of a word that the dictionary does not have, the likeliest first. */
  #guesses(word: string): readonly string[] {
    const guesses = [this.#compound(word), this.#parts(word)].filter((guess) => guess !== undefined);
    return [...new Set(guesses)];
  }

  /** `snowboy` is said as `snow` and `boy` are: its letters alone would say `snow` as `now`. */
  #compound(word: string): string | undefined {
    if (word.length > MOST_LETTERS || !/^\p{L}+$/u.test(word)) return undefined;
    const middle = word.length / 2;
    const places = Array.from({ length: Math.max(0, word.length - 2 * LEAST_PART + 1) }, (_, at) => at + LEAST_PART);
    for (const at of places.sort((one, other) => Math.abs(one - middle) - Math.abs(other - middle))) {
      const first = this.#lookUp(word.slice(0, at))[0];
      const last = first === undefined ? undefined : this.#lookUp(word.slice(at))[0];
      if (last !== undefined) return `${first} ${last}`;
    }
    return undefined;
  }

  /** `e-mail` is said as its parts are. */
  #parts(word: string): string | undefined {
    if (word.length > MOST_LETTERS) return undefined;
    const parts = word.split('-').filter((part) => part !== '');
    if (parts.length < 2) return this.#letters(word) || undefined;
    const said = parts.map((part) => this.#pronunciations(part)[0]);
    return said.every((part) => part !== undefined) ? said.join(' ') : undefined;
  }
}
