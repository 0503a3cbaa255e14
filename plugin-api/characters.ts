/** Characters that a person does not see, and that change what is read: one class for logs, terminals and manifests. */

/** Signs of Arabic and Syriac numbers count as formats and are seen. */
const SEEN = String.raw`\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}`;
/** Letters without a picture: fillers of Hangul, a joiner of graphemes, inherent vowels of Khmer. */
const EMPTY = String.raw`\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0`;

/**
 * Controls, ends of lines, marks of direction, signs of no width, tags, halves of pairs. Selectors of a variation are none: an emoji that is seen
 * consists of them. The joiners U+200C and U+200D are in the class, because a terminal shows nothing for them.
 */
const UNSEEN_CLASS = String.raw`(?![${SEEN}])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}${EMPTY}]`;

export const UNSEEN = new RegExp(UNSEEN_CLASS, 'u');
const EACH = new RegExp(UNSEEN_CLASS, 'gu');

/** A text in one line, in which each such character is written by its number: `\x1b`, `\u202e`, `\u{e0041}`. */
export function escapeUnseen(text: string): string {
  return text.replace(EACH, (sign) => {
    const code = sign.codePointAt(0)!.toString(16);
    if (code.length > 4) return `\\u{${code}}`;
    return code.length > 2 ? `\\u${code.padStart(4, '0')}` : `\\x${code.padStart(2, '0')}`;
  });
}
