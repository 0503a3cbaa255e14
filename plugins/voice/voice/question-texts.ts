/** Questions between two readings, and the words that answer them. A further language is one more entry. */
export interface QuestionTexts {
  readonly which: string;
  readonly whether: string;
  /** Templates of sentences. */
  readonly yes: readonly string[];
  readonly no: readonly string[];
  readonly first: readonly string[];
  readonly second: readonly string[];
}

const ENGLISH: QuestionTexts = {
  which: 'Did you mean {a}, or {b}?',
  whether: 'Did you mean {a}?',
  yes: ['yes [please]', 'yes i did', "that's right"],
  no: ['no', 'neither', 'none of them', 'no i did not'],
  first: ['the first [one]'],
  second: ['the second [one]'],
};
const GERMAN: QuestionTexts = {
  which: 'Meinten Sie {a} oder {b}?',
  whether: 'Meinten Sie {a}?',
  yes: ['ja [bitte]', 'genau', 'das stimmt'],
  no: ['nein', 'keines von beiden', 'keins von beiden', 'weder noch'],
  first: ['[das] (erste|ersteres)'],
  second: ['[das] (zweite|letzteres)'],
};
const FRENCH: QuestionTexts = {
  which: 'Vouliez-vous dire {a} ou {b} ?',
  whether: 'Vouliez-vous dire {a} ?',
  yes: ["oui [s'il te plaît]", "c'est ça", 'exactement'],
  no: ['non', "ni l'un ni l'autre", 'aucun des deux'],
  first: ['(le premier|la première)'],
  second: ['(le second|la seconde|le deuxième|la deuxième)'],
};
const TEXTS: ReadonlyMap<string, QuestionTexts> = new Map([
  ['en', ENGLISH],
  ['de', GERMAN],
  ['fr', FRENCH],
]);

/** Those of English where there are none. */
export function questionTexts(language: string): QuestionTexts {
  return TEXTS.get(language.toLowerCase().split(/[-_]/)[0]!) ?? ENGLISH;
}
