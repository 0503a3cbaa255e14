/**
 * Values that stand behind the name of a secret in a running text. It is read as structure, whatever language wrote it:
 * a name with its quotes, what separates it from its value, and the value with its quotes, brackets, lines or words.
 */
import { ERROR_CODES } from '../../contract/errors.ts';
import { Ends, type Quote } from './ends.ts';
import { HIDDEN } from './forms.ts';
import { isPlain, secrecyOf, wordsOf } from './keys.ts';
import { type Named, Names } from './names.ts';
import { blockEnd, type LineEnd, type OpenValue } from './open-value.ts';

/** References have a dot: a word alone may as well be the secret itself. */
export const REFERENCE = /^[a-z][a-z0-9-]*(\.[a-z0-9][a-z0-9-]*)+$/;

interface Place {
  readonly from: number;
  readonly to: number;
  /** The mark in its place has these quotes, so that a line of JSON stays one. */
  readonly quote?: string;
}

/** A text behind one of these codes tells what happened. A name in that text counts all the same. */
const CODES: ReadonlySet<string> = new Set(Object.keys(ERROR_CODES).filter((code) => secrecyOf(code) !== 'none'));

const COLOUR = String.raw`(?:\u001b\[[\d;]{0,16}m){0,2}`;
/** A bracket may close around the name: `[password] => x`, `user[password]=x`. */
const EQUALS = new RegExp(`${COLOUR}\\]{0,2}\\s{0,8}(?:=>|:=|={1,3}|->|\\\\+u003d|&#61;)${COLOUR}`, 'yi');
const COLON = new RegExp(`${COLOUR}\\s{0,8}:(?![:/]/?)${COLOUR}`, 'y');
const BLANK = /[ \t]{0,32}/y;
const BLANK_OR_BREAK = /(?:\s|\\{1,15}[nrt]){0,64}/y;
const COMMA = /\s{0,8},\s{0,8}/y;
/** The name of a header whose value is all of its line. */
const HEADER = /(?:^|-)(?:authorization|cookie2?)$|^x-/i;
/** Names whose values people choose: words with blanks between them. */
const CHOSEN = new Set('password passwd passphrase passcode pwd psk pin otp passwort kennwort'.split(' '));
/** Words that continue a sentence about the name, and are no value. */
const SAID =
  /^(?:an?|and|are|as|at|but|by|can|cannot|could|did|does|empty|expired?|failed|for|from|had|has|have|if|in|into|invalid|is|it|its|mismatch|missing|must|needs?|no|none|not|nothing|of|ok|on|only|or|out|refused|rejected|required|set|should|that|the|there|this|to|too|unknown|unset|use|was|were|what|when|which|will|with|without|wrong|you|your)[.,;:!?]?$/i;
/** Values that stand for no value, or for a hidden one. */
const VOID = /^(?:true|false|null|none|nil|undefined|\[redacted\]|\[secret(?: [^\]\n]*)?\]|\[ref [^\]\n]*\])$/i;
const MARK =
  /\[(?:redacted|secret(?: [^\]\n]{0,200})?|ref [^\]\n]{0,200}|deep|circle|more|unreadable|\d{1,9} (?:bytes|more))\]/y;
/** A bracket, behind the name of a type: `Some(`, `Credentials {`, `Map(1) {`, `&Auth{`, `array (`. */
const BRACKET = /(?:[&*]?[A-Za-z_][\w.:<>]{0,60})?(?:\(\d{0,10}\) ?|(?<=\w) (?=[[{(]))?(?=[[{(])/y;
/** `string(4) "x"` of PHP. */
const TYPE = /[a-z]{1,10}\(\d{1,9}\) (?=["'])/y;
/** `<Buffer 61 62>` */
const ANGLE = /<[^<>\n]{1,400}>/y;
const PLACEHOLDER = /^<[A-Za-z_ -]{1,30}>$/;
const NAME_OF_PAIR =
  /(?:\b|_)(?:name|key|header|setting|field|variable)(?:\\*["'`])?\s{0,4}(?::|=>?)\s{0,4}(?:[bBuU]?\\*["'`])?$/i;
const VALUE_OF_PAIR = /[^{}]{0,240}?\bvalue(?:\\*["'`])?\s{0,4}(?::|=>?)[ \t]{0,4}/y;
const LONGEST_ELEMENT = 4_096;
/** In place of the quotes of a name whose value is said apart: `name: TOKEN` above `value: x`. */
const OF_PAIR = 'pair';
/** Quotes whose text may have ends of lines; those inside of JSON or an address write them as escapes. */
const OVER_LINES = /^(?:"""|'''|["'`])$/;
const OF_STACK = /^\s*(?:at |-)/;
const LETTERS = /^[A-Za-z]+(?:[-_. ][A-Za-z]+)*$/;

/** A text in which no value stands behind the name of a secret. */
export function hideNamed(text: string): string {
  const reader = new StructureReader(text);
  let hidden = '';
  let done = 0;
  for (let place = reader.next(0); place; place = reader.next(place.to)) {
    const { from, quote = '' } = place;
    hidden += `${text.slice(done, from)}${quote}${HIDDEN}${quote}`;
    done = place.to;
  }
  return done === 0 ? text : hidden + text.slice(done);
}

/** The first value whose end the text does not have. */
export function openNamed(text: string): OpenValue | undefined {
  const reader = new StructureReader(text);
  for (let place = reader.next(0); place && !reader.open; place = reader.next(place.to));
  return reader.open;
}

class StructureReader {
  /** The first value that goes on behind the text. */
  open: OpenValue | undefined;
  readonly #text: string;
  readonly #names: Names;
  readonly #ends: Ends;

  constructor(text: string) {
    this.#text = text;
    this.#names = new Names(text);
    this.#ends = new Ends(text);
  }

  /** The next value that is to be hidden. */
  next(from: number): Place | undefined {
    let at = from;
    for (let named = this.#names.next(at); named; named = this.#names.next(at)) {
      at = named.to;
      if (secrecyOf(named.name) === 'none') continue;
      const place = this.#behind(named);
      if (place && place.to > place.from) return place;
    }
    return undefined;
  }

  #behind(named: Named): Place | undefined {
    const { to, quote, name } = named;
    const equals = this.#skip(EQUALS, to);
    if (equals !== undefined) return this.#value(named, this.#blank(equals, quote), 'equals', equals);
    const colon = this.#skip(COLON, to);
    if (colon !== undefined) return CODES.has(name) ? undefined : this.#colon(named, colon);
    if (/^--?[a-z]/i.test(name) && quote === '') return this.#flag(named);
    const before = this.#text[named.from - 1];
    if (before === '<' && quote === '') return this.#element(to);
    if (NAME_OF_PAIR.test(this.#names.before(named.from + quote.length, 32))) {
      const value = this.#skip(VALUE_OF_PAIR, to);
      if (value !== undefined) return this.#value({ ...named, quote: named.quote || OF_PAIR }, value, 'colon', value);
    }
    return quote === '' ? undefined : this.#listed(named);
  }

  #colon(named: Named, colon: number): Place | undefined {
    const { from, quote, within } = named;
    const value = this.#blank(colon, quote);
    // `/run/secrets/token: no such file`
    if (quote === '' && this.#text[from - 1] === '/') return undefined;
    const line = this.#ends.line(colon);
    const begins = quote === '' && within === '' && this.#names.beginsLine(from);
    if (quote === '' && HEADER.test(named.name) && !this.#hasOwnEnd(value, begins)) {
      const header = this.#header(named, value, begins);
      if (header) return header;
    }
    if (begins && /^(?:[|>][-+\d]{0,3})?\s*(?:#.*)?$/.test(this.#text.slice(value, Math.min(line, value + 100)))) {
      const indent = this.#names.indent(from);
      const end = this.#ends.block(from, indent);
      this.#goesOn(from, end, blockEnd(indent));
      if (end > line) return { from: this.#lineBegin(line), to: end };
    }
    if (quote !== '') this.#goesOn(from, value, () => 'with');
    return this.#value(named, value, 'colon', colon);
  }

  /** A block, or a value that has not begun: it is open where the text has nothing behind it. */
  #goesOn(at: number, end: number, ends: LineEnd): void {
    if (this.#skip(/\s*$/y, end) !== undefined) this.open ??= { at, ends };
  }

  /** The value of a header in YAML or JSON stands in quotes or brackets; that of HTTP may only begin so. */
  #hasOwnEnd(value: number, begins: boolean): boolean {
    const quote = this.#ends.quote(value);
    if (!quote) return this.#skip(BRACKET, value) !== undefined;
    const close = begins ? this.#ends.closing(quote) : value;
    return (
      close >= 0 &&
      (!begins || this.#skip(/[ \t]{0,8},?[ \t]{0,8}(?=\r?\n|\\+n|$)/y, close + quote.sign.length) !== undefined)
    );
  }

  #header({ within, name }: Named, from: number, begins: boolean): Place | undefined {
    const line = this.#ends.line(from);
    const close = within === '' ? -1 : this.#ends.closing({ sign: within, from });
    let to = close >= 0 && close <= line ? close : this.#ends.header(from, line);
    if (begins && to === line) {
      // Folded lines go on with a blank; those of a stack do not belong to it.
      const folded = this.#ends.block(from, 0);
      if (!OF_STACK.test(this.#text.slice(line, line + 80).replace(/^(?:\s|\\n)+/, ''))) {
        to = folded;
        this.#goesOn(from, folded, (text) => (OF_STACK.test(text) ? 'before' : blockEnd(0)(text)));
      }
    }
    const said = this.#text.slice(from, to);
    if (said.trim() === '' || said === HIDDEN) return undefined;
    if (!/cookie/i.test(name) && (/^[a-z]+[.!?]?$/.test(said) || SAID.test(said.split(/\s/, 1)[0]!))) return undefined;
    return { from, to };
  }

  /** Values in quotes and brackets have their own ends; those without are read by what separates them from the name. */
  #value(named: Named, from: number, kind: 'equals' | 'colon', separator: number): Place | undefined {
    if (this.#skip(MARK, from) !== undefined) return undefined;
    const typed = this.#skip(TYPE, from) ?? from;
    const quote = this.#ends.quote(typed);
    if (quote && quote.sign !== named.within) return this.#quoted(named, typed, quote, kind);
    if (quote) return undefined; // the value is empty: the quote around the whole closes
    const place = this.#unquoted(named, from, kind, separator);
    return place && /["']$/.test(named.quote) ? { ...place, quote: named.quote } : place;
  }

  #unquoted(named: Named, from: number, kind: 'equals' | 'colon', separator: number): Place | undefined {
    const angle = this.#skip(ANGLE, from);
    if (angle !== undefined) return PLACEHOLDER.test(this.#text.slice(from, angle)) ? undefined : { from, to: angle };
    const bracket = this.#skip(BRACKET, from);
    const structure = kind === 'equals' || named.quote !== '' || this.#text[bracket ?? 0] !== '(' || bracket! > from;
    if (bracket !== undefined && structure) return this.#nested(named, from, bracket);
    return this.#bare(named, from, kind, separator);
  }

  #quoted(named: Named, at: number, quote: Quote, kind: 'equals' | 'colon'): Place | undefined {
    const { from, sign } = quote;
    const close = this.#ends.closing(quote);
    // An apostrophe that never closes ends with its line.
    const to = close >= 0 ? close : this.#ends.line(from);
    if (close < 0 && named.within === '' && OVER_LINES.test(sign))
      this.open ??= { at, ends: (line) => (line.includes(sign) ? 'with' : 'behind') };
    const said = this.#text.slice(from, to);
    if (said === '' || this.#isShown(named, said)) return undefined;
    const joined = close >= 0 && kind === 'equals' ? this.#ends.joined(quote, close) : to + sign.length;
    return joined > to + sign.length ? { from: at, to: joined } : { from, to };
  }

  #nested(named: Named, from: number, open: number): Place | undefined {
    let close = this.#ends.bracket(open);
    // `[Object: null prototype] { ... }`
    const second = close < 0 ? undefined : this.#skip(/ (?=[{[])/y, close);
    if (second !== undefined) close = Math.max(close, this.#ends.bracket(second));
    const indent = this.#names.indent(named.from);
    const to = close >= 0 ? close : Math.max(this.#ends.block(open, indent), open + 1);
    if (close < 0) this.#goesOn(open, to, blockEnd(indent));
    const inside = this.#text.slice(open + 1, Math.min(to - 1, open + 200));
    if (inside.trim() === '') return undefined;
    const [, reference] = /^[\s\\"'`]*secret[\s\\"'`]*:[\s\\"'`]*([\w.-]+)[\s\\"'`]*$/.exec(inside) ?? [];
    if (reference !== undefined && isReferenceText(reference)) return undefined;
    return { from, to };
  }

  #bare(named: Named, from: number, kind: 'equals' | 'colon', separator: number): Place | undefined {
    const { name, quote, within } = named;
    const line = this.#ends.line(from);
    const word = Math.min(this.#ends.word(from), line);
    if (word <= from) return undefined;
    const begins = quote === '' && within === '' && this.#names.beginsLine(named.from);
    const said = this.#text.slice(from, word);
    if (this.#isShown(named, said) || isCount(name, said)) return undefined;
    if (kind === 'equals') {
      if (within !== '') return { from, to: this.#untilQuote(named, from, word) };
      // `password = three words` of an INI file; `Cookie=a=b; c=d`
      if (begins && from > separator && /\s/.test(this.#text[separator - 2] ?? '')) return { from, to: line };
      return { from, to: HEADER.test(name) ? this.#pairs(word, line) : word };
    }
    if (quote !== '' && quote !== '`') return { from, to: word };
    const chosen = wordsOf(name).some((one) => CHOSEN.has(one));
    const first = said.replace(/[.,;:!?]+$/, '');
    if (begins && chosen && from > separator && !SAID.test(first)) return { from, to: line };
    if (this.#names.isInMap(named.from)) return this.#isOwnReference(named, said) ? undefined : { from, to: word };
    if (from === separator && within === '') return isUnlikeWords(said) ? { from, to: word } : undefined;
    if (SAID.test(first)) return undefined;
    if (within !== '' && chosen) return { from, to: this.#untilQuote(named, from, word) };
    const least = secrecyOf(name) === 'all' ? 1 : 4;
    return said.length < least || /^[a-z]+[.,;:!?]?$/.test(said) ? undefined : { from, to: word };
  }

  /** `"TOKEN=two words"`: up to the quote around the whole, where nothing else begins before it. */
  #untilQuote({ within }: Named, from: number, word: number): number {
    const close = this.#ends.closing({ sign: within, from });
    if (close < word || close > this.#ends.line(from)) return word;
    return /[\s&;,][\w.-]{1,64}[=:]/.test(this.#text.slice(word, Math.min(close, word + 400))) ? word : close;
  }

  #pairs(from: number, line: number): number {
    let end = from;
    while (end < line && this.#text[end] === ';') {
      const next = this.#skip(/;[ \t]{0,4}/y, end) ?? line;
      const behind = this.#ends.word(next);
      if (behind === next) break;
      end = Math.min(behind, line);
    }
    return end;
  }

  /** `--password x`; what begins with a dash is the next option. */
  #flag(named: Named): Place | undefined {
    const from = this.#skip(/[ \t]{1,4}(?=[^\s-])/y, named.to);
    if (from === undefined || /[\w-]/.test(this.#text[named.from - 1] ?? ' ')) return undefined;
    const quote = this.#ends.quote(from);
    if (quote && quote.sign !== named.within) return this.#quoted(named, from, quote, 'equals');
    const to = Math.min(this.#ends.word(from), this.#ends.line(from));
    const said = this.#text.slice(from, to);
    const usage = /^(?:<[\w -]*>?|\[.*|\(.*)$/.test(said) || SAID.test(said);
    return usage || this.#isShown(named, said) ? undefined : { from, to };
  }

  /** `<password>x</password>` */
  #element(to: number): Place | undefined {
    const from = this.#skip(/[^<>\n]{0,100}>/y, to);
    if (from === undefined) return undefined;
    const [said] = this.#text.slice(from, from + LONGEST_ELEMENT).split('</', 1);
    if (said === undefined || !this.#text.startsWith('</', from + said.length)) return undefined;
    const shown = said.trim() === '' || said.includes('<') || VOID.test(said.trim());
    return shown ? undefined : { from, to: from + said.length };
  }

  /** A pair in a list, `["Cookie", "a=b"]`, or one behind the other: the name decides, unless what follows is a name as well. */
  #listed(named: Named): Place | undefined {
    const at = this.#skip(COMMA, named.to);
    const quote = at === undefined ? undefined : this.#ends.quote(at);
    if (!quote) return undefined;
    const close = this.#ends.closing(quote);
    const to = close >= 0 ? close : this.#ends.line(quote.from);
    const said = this.#text.slice(quote.from, to);
    if (said === '' || this.#isShown(named, said)) return undefined;
    const place = { from: quote.from, to };
    if (/^--?[a-z]/i.test(named.name)) return said.startsWith('-') ? undefined : place;
    const before = this.#names
      .before(named.from, 8)
      .trimEnd()
      .replace(/[bBuU]$/, '');
    const pair =
      /[[({]$/.test(before) && /^\s*[\])}]/.test(this.#text.slice(to + quote.sign.length, to + quote.sign.length + 8));
    const ofPairs = pair && /[[({,]\s*$/.test(before.slice(0, -1));
    return LETTERS.test(said) && !ofPairs && (!pair || secrecyOf(said) !== 'none') ? undefined : place;
  }

  #isShown({ name }: Named, said: string): boolean {
    return VOID.test(said) || isPlain(name, said);
  }

  /** `{ secret: stt.key }` is a reference, and `{ secret: NAME }` says how to write one. */
  #isOwnReference(named: Named, said: string): boolean {
    if (named.name !== 'secret' || !isReferenceText(said)) return false;
    const line = this.#text.slice(named.from, named.from + 160);
    return /\{\s?$/.test(this.#names.before(named.from, 2)) && /^secret:\s{1,4}[\w.-]+\s?\}/.test(line);
  }

  #blank(at: number, quote: string): number {
    return this.#skip(quote === '' ? BLANK : BLANK_OR_BREAK, at) ?? at;
  }

  /** The place behind the indentation of the next line. */
  #lineBegin(line: number): number {
    return this.#skip(BLANK_OR_BREAK, line) ?? line;
  }

  #skip(pattern: RegExp, at: number): number | undefined {
    pattern.lastIndex = at;
    return pattern.test(this.#text) ? pattern.lastIndex : undefined;
  }
}

const isReferenceText = (text: string): boolean => REFERENCE.test(text) || text === 'NAME';

/** `tokens: 120` */
const isCount = (name: string, said: string): boolean =>
  /s$/i.test(name) && /^\d{1,9}(?:\.\d{1,6})?%?[.,;]?$/.test(said);

/** A value that follows its colon without a blank: `token:AbC123`, but not `secret:12:3` of a file and not `token:read` of a scope. */
const isUnlikeWords = (said: string): boolean =>
  said.length >= 6 && !/^[\d:.]+$/.test(said) && /\d/.test(said) && /[A-Za-z]/.test(said);
