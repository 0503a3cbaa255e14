/**
 * Characters that a person does not see, and that change what is read: one class for logs, terminals, pages and
 * manifests. Without imports: browsers load it, too.
 */

/** Signs of Arabic and Syriac numbers count as formats and are seen. */
const SEEN = String.raw`\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}`;
/** Letters without a picture: fillers of Hangul, a joiner of graphemes, inherent vowels of Khmer. */
const EMPTY = String.raw`\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0`;

/**
 * Controls, ends of lines, marks of direction, signs of no width, tags, halves of pairs. Selectors of a variation are
 * none: an emoji that is seen consists of them. The joiners U+200C and U+200D are in the class, because a terminal
 * shows nothing for them.
 */
const UNSEEN_CLASS = String.raw`(?![${SEEN}])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}${EMPTY}]`;

/** After these signs of Indic scripts a joiner decides the shape of the letter, also at the end of a word. */
const VIRAMA = String.raw`\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca`;
/**
 * Members of the class that change the picture where they stand: joiners in emoji (UTS 51), joiners between letters,
 * the tags of a flag of a region.
 */
const KEPT = [
  String.raw`(?<=\p{Extended_Pictographic}[\u{1f3fb}-\u{1f3ff}\ufe0f]{0,2})\u200d(?=\p{Extended_Pictographic})`,
  String.raw`(?<=[\p{L}\p{M}])[\u200c\u200d](?=[\p{L}\p{M}])`,
  `(?<=[${VIRAMA}])[\\u200c\\u200d]`,
  String.raw`(?<=\u{1f3f4})[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{3,6}\u{e007f}`,
].join('|');

export const UNSEEN = new RegExp(UNSEEN_CLASS, 'u');
const EACH = new RegExp(`(${KEPT})|${UNSEEN_CLASS}`, 'gu');

/**
 * A text in one line, in which each such character is written by its number: `\x1b`, `\u202e`, `\u{e0041}`. Joiners of
 * emoji and of letters stay.
 */
export function escapeUnseen(text: string): string {
  return text.replace(EACH, (sign, kept: string | undefined) => (kept === undefined ? numbered(sign) : sign));
}

export interface Unseen {
  /** As `escapeUnseen` writes it. */
  readonly sign: string;
  /** Characters before it, as a person counts code points. */
  readonly before: number;
}

/** The first character of the text that is not seen and does not belong there. `lines`: line breaks do. */
export function firstUnseen(text: string, { lines = false } = {}): Unseen | undefined {
  for (const { 0: sign, 1: kept, index } of text.matchAll(EACH))
    if (kept === undefined && !(lines && /[\r\n]/.test(sign)))
      return { sign: numbered(sign), before: [...text.slice(0, index)].length };
  return undefined;
}

function numbered(sign: string): string {
  const code = sign.codePointAt(0)!.toString(16);
  if (code.length > 4) return `\\u{${code}}`;
  return code.length > 2 ? `\\u${code.padStart(4, '0')}` : `\\x${code.padStart(2, '0')}`;
}
