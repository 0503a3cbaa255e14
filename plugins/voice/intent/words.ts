/** Text as words: lower case, without punctuation. Sentences of templates and what was heard go through the same. */

const APOSTROPHES = /[\u2018\u2019\u02bc`]/g;
/** A word: letters and digits, with apostrophes inside and points between digits. */
const WORD = /\d+(?:\.\d+)+|[\p{L}\p{M}\p{N}]+(?:'[\p{L}\p{M}]+)*'?/gu;

/** `-5` is "minus 5", `50%` is "50 percent", `1,000` is "1000", `twenty-one` is two words. */
export function wordsOf(text: string, percent = 'percent', minus = 'minus'): readonly string[] {
  const plain = text
    .normalize('NFC')
    .toLowerCase()
    .replace(APOSTROPHES, "'")
    .replace(/(\d),(?=\d{3}(?!\d))/g, '$1')
    .replace(/(^|\s)[-\u2212](?=\d)/g, `$1${minus} `)
    .replaceAll('%', ` ${percent} `)
    // `07:05` is said like `7:05`.
    .replace(/(^|\D)0(?=\d:\d\d(?!\d))/g, '$1')
    // Letters and digits that stand together are heard apart: `5pm`, `usb3`.
    .replace(/(\p{N})(?=\p{L})|(\p{L})(?=\p{N})/gu, '$& ');
  return plain.match(WORD)?.map((word) => word.replace(/'$/, '')) ?? [];
}

/** `en-GB` as `en`: tables and definitions are of a language, whatever the country. */
export function baseLanguage(tag: string): string {
  return tag.toLowerCase().split(/[-_]/, 1)[0] ?? '';
}
