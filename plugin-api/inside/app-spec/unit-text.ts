/**
 * Texts of unit files by systemd's rules (systemd.syntax, systemd.service, systemd.exec). No text leaves the line and
 * the word that it was put into.
 */

/** One directive, as many words as there are. */
export function directive(name: string, ...words: readonly string[]): string {
  return `${name}=${words.join(' ')}`;
}

const ESCAPED: Readonly<Record<string, string>> = { '"': '\\"', '\\': '\\\\', '\n': '\\n', '\t': '\\t', '\r': '\\r' };

/**
 * A word where C escapes are read: ExecStart=, Environment=. `%` begins a specifier; `$` is left as it is, for `:`
 * before the program switches it off.
 */
export function word(text: string): string {
  const inside = text.replace(/["\\\p{Cc}]/gu, (char) => ESCAPED[char] ?? hex(char)).replaceAll('%', '%%');
  return `"${inside}"`;
}

/** Control characters are one or two bytes of UTF-8, and systemd reads bytes. */
function hex(char: string): string {
  return [...new TextEncoder().encode(char)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('');
}

/** A path in a list of paths: quotes and `\` are read, other escapes are not, so that a path with a control character cannot be written. */
export function pathWord(path: string): string {
  const inside = path.replace(/["\\]/g, '\\$&').replaceAll('%', '%%');
  return /^[\w@+=,./%-]*$/.test(inside) ? inside : `"${inside}"`;
}

/** A path that is a line of its own: WorkingDirectory=. Neither quotes nor escapes are read. */
export function lonePath(path: string): string {
  // A blank at the end of a line is cut off, and a backslash there joins the next line to it.
  return `${path.replaceAll('%', '%%')}${/[\s\\]$/.test(path) ? '/' : ''}`;
}
