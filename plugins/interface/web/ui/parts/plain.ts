/**
 * Control characters, and marks that turn the direction of what stands around them or are not seen at all. What joins
 * parts of an emoji may stay.
 */
const UNSEEN = /(?!\u200d)[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** A text of somebody else's as one line: what cannot be seen is written as an escape. At most `most` characters. */
export function plain(text: string, most = 400): string {
  const cut = text.length > most ? `${text.slice(0, most)}…` : text;
  return cut.replace(UNSEEN, (one) => `\\u${one.codePointAt(0)!.toString(16).padStart(4, '0')}`);
}
