/** Names in a running text that have a word of a secret, with their places and quotes. */
import { QUOTE_SIGN } from './ends.ts';
import { secretWords } from './keys.ts';

export interface Named {
  readonly name: string;
  /** With its opening quote. */
  readonly from: number;
  /** The place behind its closing quote. */
  readonly to: number;
  /** The quotes around the name alone: `"token"`. */
  readonly quote: string;
  /** The quote that opens right before the name, and closes somewhere behind it: `"token: x"`. */
  readonly within: string;
}

/** Characters of a name to both sides of its word. */
const MOST = 64;
const LONGEST_QUOTE = 64;
const AFTER = /[\w.-]{0,64}/y;
const CLOSING = new RegExp(QUOTE_SIGN, 'y');
const OPENING = new RegExp(`${QUOTE_SIGN}$`);
/** Letters before a name that belong to an escape or to a code of colour: `\ntoken`, `\u0026token`, `ESC[36mtoken`. */
const ESCAPED = /^(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[nrtbfv0])/;
const OF_COLOUR = /^\d{1,3}m/;
/** Signs that may begin a line before its name: indentation, items of lists, marks of requests, prompts, words of a shell. */
const BEGINS = /(?:^|\n|\\n)(?:[ \t]|[-+>*$#?]|export |set |declare -\w+ |environment=){0,40}["'`]?$/i;
/** A structure that is still open: a map of JSON, YAML, Go, Java or Python. */
const IN_MAP = /\{[^{}\n]*$|\bmap\[[^[\]\n]*$/;
const LOOK_BACK = 240;

/** Each name with a word of a secret, in turn. `skip` says where the search goes on. */
export class Names {
  readonly #text: string;
  readonly #words = secretWords();

  constructor(text: string) {
    this.#text = text;
  }

  next(from: number): Named | undefined {
    this.#words.lastIndex = from;
    const found = this.#words.exec(this.#text);
    return found ? this.#at(found.index, found.index + found[0].length, from) : undefined;
  }

  #at(word: number, behind: number, least: number): Named {
    const text = this.#text;
    let from = word;
    while (from > least && word - from < MOST && isOfName(text.charCodeAt(from - 1))) from--;
    from = Math.min(word, from + this.#leading(from));
    AFTER.lastIndex = behind;
    AFTER.test(text);
    let to = Math.max(behind, AFTER.lastIndex);
    // `password->x`, and the full stop of a sentence.
    while (to > behind && /[.-]/.test(text[to - 1]!)) to--;
    const name = text.slice(from, to);
    const before = text.slice(Math.max(least, from - LONGEST_QUOTE), from);
    const opening = OPENING.exec(before)?.[0] ?? '';
    CLOSING.lastIndex = to;
    const closing = CLOSING.exec(text)?.[0] ?? '';
    if (closing === '') return { name, from: from - opening.length, to, quote: '', within: opening };
    if (closing === opening)
      return { name, from: from - opening.length, to: to + closing.length, quote: closing, within: '' };
    // A name of several words: "my api key".
    const open = text.slice(Math.max(least, from - MOST), from);
    const at = open.lastIndexOf(closing);
    const words = at < 0 ? undefined : open.slice(at + closing.length);
    if (words === undefined || !/^[\w .-]*$/.test(words)) return { name, from, to, quote: '', within: '' };
    const whole = { from: from - words.length - closing.length, to: to + closing.length };
    return { name: words + name, ...whole, quote: closing, within: '' };
  }

  /** Characters that belong to what stands before the name. */
  #leading(from: number): number {
    const before = this.#text[from - 1];
    const some = this.#text.slice(from, from + 6);
    if (before === '\\') return ESCAPED.exec(some)?.[0].length ?? 0;
    return before === '[' || before === ';' ? (OF_COLOUR.exec(some)?.[0].length ?? 0) : 0;
  }

  /** Nothing but indentation and marks stands before it in its line. */
  beginsLine(at: number): boolean {
    return BEGINS.test(this.#text.slice(Math.max(0, at - 48), at));
  }

  /** How deep its line is indented. */
  indent(at: number): number {
    const before = this.#text.slice(Math.max(0, at - LOOK_BACK), at);
    const line = before.slice(Math.max(before.lastIndexOf('\n') + 1, before.lastIndexOf('\\n') + 2));
    return line.length - line.trimStart().length;
  }

  isInMap(at: number): boolean {
    return IN_MAP.test(this.#text.slice(Math.max(0, at - LOOK_BACK), at));
  }

  before(at: number, most: number): string {
    return this.#text.slice(Math.max(0, at - most), at);
  }
}

function isOfName(code: number): boolean {
  const letter = code | 32;
  return (letter >= 97 && letter <= 122) || (code >= 48 && code <= 57) || code === 45 || code === 46 || code === 95;
}
