/**
 * Ends of values: quotes of any writing and depth of escapes, brackets, lines, blocks that are indented. An instance
 * reads one text from its begin to its end, and remembers which search found nothing: the time for a text stays in
 * proportion to its length.
 */

/** The end of a line, also as texts of JSON and of Python write it. */
const BREAK = /\r?\n|\\n|$/g;
const BREAKS = /\r?\n|\\+n/y;
const SPACE = /[ \t]*/y;
/** An item of a list, and not the begin of a key in PEM. */
const ITEM = /-(?=\s|\\|$)/y;
/** An apostrophe as a shell writes it inside of apostrophes, also in a shell within a shell: `'\''`. */
const OF_SHELL = String.raw`\\*'\\+'['"\\]{1,60}|'"'"'`;
/**
 * Quotes of all writings: escaped as often as the text was written into another, as addresses and HTML write them,
 * threefold as in Python and TOML.
 */
export const QUOTE_SIGN = String.raw`(?:${OF_SHELL}|\\*(?:"""|'''|["'\x60])|&quot;|&#3[49];|\\+u002[27])`;
const SHELL = new RegExp(OF_SHELL, 'y');
/** Languages put a prefix before the quote: `b'x'`, `$"x"`. */
const QUOTE = new RegExp(String.raw`(?:[bBuUrRfF]{1,2}(?=\\*["'])|[$@](?=["']))?(${QUOTE_SIGN})`, 'y');
const QUOTES = /["'`]/g;
const BRACKETS = /["'`[\](){}]/g;
const MORE_OF_SHELL = /['"\\]{1,60}(?=[^\s,;)}\]'"\\])/y;
const BEHIND_VALUE = /\s{0,8}(?:,\s{0,8}(?:\\*["'`]|[{[\d-]|true|false|null)|[}\])>;&:]|\\*["'`]|\r?\n|\\n|$)/y;
/** Characters of one value in quotes or brackets; a longer one counts as not closed. */
const LONGEST = 16 << 10;
/** A word without quotes may end before one of these. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: a code of colour ends a word
const DELIMITER = /[\s\u001b&,;"'`\\()[\]{}<>]/g;
const NEXT_OF_QUERY = /&(?:amp;)?[\w.%[\]-]{0,64}=/y;
const NEXT_OF_LIST = /[,;](?=\s|$|["'\\)\]},;&]|[\w.-]{1,64}["']?[=:])/y;

export interface Quote {
  /** As it stands in the text: `\"` in a text of JSON inside of JSON. */
  readonly sign: string;
  /** The place behind the sign. */
  readonly from: number;
}

export class Ends {
  readonly #text: string;
  /** Signs that do not close any more behind the present place. */
  readonly #open = new Set<string>();
  #break = { from: -1, at: -1 };

  constructor(text: string) {
    this.#text = text;
  }

  quote(at: number): Quote | undefined {
    const [, sign] = this.#match(QUOTE, at);
    return sign === undefined ? undefined : { sign, from: QUOTE.lastIndex };
  }

  /** The place of the closing quote; -1: there is none. */
  closing({ sign, from }: Quote): number {
    if (this.#open.has(sign)) return -1;
    const bare = sign.replace(/^\\+(?=["'`]+$)/, '');
    const escapes = sign.length - bare.length;
    for (let at = this.#text.indexOf(bare, from); at >= 0; at = this.#text.indexOf(bare, at + 1)) {
      if (at - from > LONGEST) return -1;
      const run = this.#backslashes(at, from);
      // A shell writes an apostrophe so, and its text goes on.
      const shell = bare === "'" ? this.#match(SHELL, at - run)[0] : undefined;
      if (shell !== undefined) {
        at = Math.max(at, at - run + shell.length - 1);
        continue;
      }
      if (run === escapes) return at - escapes;
      // More of them stand before a quote inside of the value, and before one that closes a value with a backslash at its end.
      if ((run - escapes) % (2 * (escapes + 1)) === 0 && this.#match(BEHIND_VALUE, at + bare.length).length > 0)
        return at - escapes;
    }
    this.#open.add(sign);
    return -1;
  }

  line(at: number): number {
    if (at < this.#break.from || at > this.#break.at) {
      BREAK.lastIndex = at;
      const end = BREAK.exec(this.#text)?.index ?? this.#text.length;
      this.#break = { from: at, at: this.#text[end] === '\\' ? end - this.#backslashes(end, at) : end };
    }
    return this.#break.at;
  }

  /** The place behind the closing bracket; -1: there is none. */
  bracket(open: number): number {
    if (this.#open.has('[')) return -1;
    let depth = 0;
    for (let at = open; ; ) {
      BRACKETS.lastIndex = at;
      const found = BRACKETS.exec(this.#text);
      if (!found || found.index - open > LONGEST) break;
      const [sign] = found;
      const before = this.#backslashes(found.index, at);
      at = found.index + 1;
      if ('[({'.includes(sign)) depth++;
      else if (!'])}'.includes(sign)) at = Math.max(at, this.#behind({ sign: '\\'.repeat(before) + sign, from: at }));
      else if (--depth === 0) return at;
    }
    this.#open.add('[');
    return -1;
  }

  #behind(quote: Quote): number {
    const close = this.closing(quote);
    return close < 0 ? -1 : close + quote.sign.length;
  }

  /** The end of the lines that stand deeper than `indent`; items of a list may stand at it. All of them end as the first one does. */
  block(at: number, indent: number): number {
    let end = this.line(at);
    const [sign] = this.#match(BREAKS, end);
    if (sign === undefined) return end;
    for (let next = end + sign.length; ; next = end + sign.length) {
      while (this.#text.startsWith(sign, next)) next += sign.length;
      const [space = ''] = this.#match(SPACE, next);
      const first = next + space.length;
      const deeper = space.length > indent || (space.length === indent && this.#match(ITEM, first).length > 0);
      if (first >= this.#text.length || !deeper) return end;
      end = this.#next(sign, next);
      if (end < 0) return this.#text.length;
    }
  }

  /** The next end of a line that is written just so, and not in a text of this text. */
  #next(sign: string, from: number): number {
    let at = this.#text.indexOf(sign, from);
    while (at > from && sign.startsWith('\\') && this.#text[at - 1] === '\\') at = this.#text.indexOf(sign, at + 1);
    return at;
  }

  /** The end of a header's value: its line, or the quote that the whole header stands in. Quotes of its parameters belong to it. */
  header(from: number, line: number): number {
    for (let at = from; at < line; ) {
      QUOTES.lastIndex = at;
      const found = QUOTES.exec(this.#text);
      if (!found || found.index >= line) return line;
      const before = this.#backslashes(found.index, at);
      const opens = found.index - before;
      if (this.#text[opens - 1] !== '=' && opens !== from) return opens;
      at = found.index + 1;
      const behind = this.#behind({ sign: this.#text.slice(opens, at), from: at });
      if (behind >= 0 && behind <= line) at = behind;
    }
    return line;
  }

  /** The end of a word without quotes: a delimiter ends it only where something else begins behind it, since a password may have one. */
  word(from: number): number {
    let depth = 0;
    for (let at = from; ; at++) {
      DELIMITER.lastIndex = at;
      const found = DELIMITER.exec(this.#text);
      if (!found) return this.#text.length;
      at = found.index;
      const [sign] = found;
      const [shell] = sign === '\\' || sign === "'" ? this.#match(SHELL, at) : [];
      if (shell !== undefined) at += shell.length - 1;
      else if (sign === '\\') {
        let quote = at;
        while (this.#text[quote] === '\\') quote++;
        if (this.#isQuote(quote) && !this.#isWord(quote + 1)) return at;
        at = quote - 1;
      } else if (sign === '&') {
        if (this.#match(NEXT_OF_QUERY, at).length > 0) return at;
      } else if (sign === ',' || sign === ';') {
        if (this.#match(NEXT_OF_LIST, at).length > 0) return at;
      } else if (this.#isQuote(at)) {
        if (!this.#isWord(at + 1)) return at;
        const close = this.closing({ sign, from: at + 1 });
        if (close >= 0 && close < this.line(at)) at = close;
      } else if ('([{'.includes(sign)) depth++;
      else if (')]}>'.includes(sign)) {
        if (depth > 0) depth--;
        else if (!this.#isWord(at + 1)) return at;
      } else if (sign !== '<') return at;
    }
  }

  /**
   * Shells and SQL join texts to a value in quotes, `'it''s'` and `'a'b`: the place behind the last one. `close` is the
   * end of the first.
   */
  joined({ sign }: Quote, close: number): number {
    let end = close + sign.length;
    const line = this.line(close);
    if (sign.length > 1) {
      // A shell inside of a shell.
      for (let [run] = this.#match(MORE_OF_SHELL, end); run !== undefined && sign.startsWith("'") && end < line; ) {
        end = this.#behind({ sign, from: end + run.length });
        if (end < 0) return line;
        [run] = this.#match(MORE_OF_SHELL, end);
      }
      return end;
    }
    while (end < line) {
      if (this.#text[end] === sign) end = this.#behind({ sign, from: end + 1 });
      else return this.#isWord(end) ? this.word(end) : end;
      if (end < 0 || end > line) return line;
    }
    return end;
  }

  #isQuote(at: number): boolean {
    const sign = this.#text[at];
    return sign === '"' || sign === "'" || sign === '`';
  }

  #isWord(at: number): boolean {
    return /\w/.test(this.#text[at] ?? ' ');
  }

  #backslashes(at: number, from: number): number {
    let run = 0;
    while (at - run > from && this.#text[at - run - 1] === '\\') run++;
    return run;
  }

  #match(pattern: RegExp, at: number): readonly string[] {
    pattern.lastIndex = at;
    return pattern.exec(this.#text) ?? [];
  }
}
