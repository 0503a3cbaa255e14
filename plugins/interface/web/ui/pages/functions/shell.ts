/** Words for a POSIX shell. */

/** As one word that the shell takes as it is. */
export function quoted(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * Can it stand on a command line that somebody pastes? A zero ends a word for every program; other control characters
 * steer the terminal, and half a surrogate pair is no character.
 */
export function canBeWord(text: string): boolean {
  return !/(?![\n\t])\p{Cc}/u.test(text) && !/\p{Cs}/u.test(text);
}

/** JSON that can stand there always: what steers terminals or turns directions is escaped. */
export function safeJson(value: unknown): string {
  return JSON.stringify(value).replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (one) =>
    [...Array(one.length).keys()].map((at) => `\\u${one.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  );
}
