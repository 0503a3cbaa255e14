/**
 * Patterns of `grep`: a plain text, or an expression between slashes. An expression runs as an automaton that reads each character once
 * (Thompson 1968, as RE2 does), so no pattern can hold the Core up. Parts that need to go back (references, look-around) are refused.
 */
import { CoreError } from '@device-core/plugin-api';

/** Characters of an expression, states that it may come to, and characters of a line that it looks at. */
const LONGEST = 256;
const MOST_STATES = 500;
const LINE = 4_096;
const MOST_REPEATS = 50;

type Test = (code: number) => boolean;
/** A state: takes a character and goes on, goes on at two places, or is a condition. */
type State =
  | { readonly kind: 'take'; readonly test: Test; next: number }
  | { readonly kind: 'fork'; next: number; other: number }
  | { readonly kind: 'begin' | 'end'; next: number }
  | { readonly kind: 'found' };

/** Throws PARAMS_INVALID. */
export function patternOf(grep: string): (text: string) => boolean {
  const [, source, flag] = /^\/(.+)\/(i?)$/s.exec(grep) ?? [];
  if (source === undefined) return (text) => text.includes(grep);
  if (source.length > LONGEST) throw refused(`an expression has at most ${LONGEST} characters`);
  const { states, first } = new Parser(source, flag === 'i').parse();
  return (text) => run(states, first, text.length > LINE ? text.slice(0, LINE) : text);
}

const refused = (reason: string) => new CoreError('PARAMS_INVALID', { where: 'grep', reason });

function run(states: readonly State[], first: number, text: string): boolean {
  let now: number[] = [];
  const marks = new Uint32Array(states.length);
  for (let at = 0; at <= text.length; at++) {
    const mark = at + 1;
    const reached: number[] = [];
    const waiting = [first, ...now];
    while (waiting.length > 0) {
      const id = waiting.pop()!;
      if (marks[id] === mark) continue;
      marks[id] = mark;
      const state = states[id]!;
      if (state.kind === 'found') return true;
      if (state.kind === 'fork') waiting.push(state.next, state.other);
      else if (state.kind === 'take') reached.push(id);
      else if (at === (state.kind === 'begin' ? 0 : text.length)) waiting.push(state.next);
    }
    const code = text.charCodeAt(at);
    now = [];
    for (const id of reached) {
      const state = states[id] as State & { kind: 'take' };
      if (at < text.length && state.test(code)) now.push(state.next);
    }
  }
  return false;
}

/** A part of an expression: makes its states so that they go on at `next`, and says where it begins. */
type Part = (next: number) => number;

class Parser {
  readonly #source: string;
  readonly #fold: boolean;
  readonly #states: State[] = [{ kind: 'found' }];
  #at = 0;

  constructor(source: string, fold: boolean) {
    this.#source = source;
    this.#fold = fold;
  }

  parse(): { readonly states: readonly State[]; readonly first: number } {
    const part = this.#alternatives();
    if (this.#at < this.#source.length) throw refused(`there is no group that ")" could end`);
    return { states: this.#states, first: part(0) };
  }

  #add(state: State): number {
    if (this.#states.length >= MOST_STATES) throw refused('it is too large: fewer repetitions will do');
    return this.#states.push(state) - 1;
  }

  #alternatives(): Part {
    const parts = [this.#sequence()];
    while (this.#eat('|')) parts.push(this.#sequence());
    return parts.reduce((all, one) => (next) => this.#add({ kind: 'fork', next: all(next), other: one(next) }));
  }

  #sequence(): Part {
    const parts: Part[] = [];
    while (this.#at < this.#source.length && !/[|)]/.test(this.#peek())) parts.push(this.#repeated(this.#atom()));
    return (next) => parts.reduceRight((after, part) => part(after), next);
  }

  #repeated(part: Part): Part {
    const [whole, sign, least, comma, most] =
      /^(?:([*+?])|\{(\d{1,3})(,?)(\d{0,3})\})\??/.exec(this.#source.slice(this.#at)) ?? [];
    if (whole === undefined) return part;
    this.#at += whole.length;
    if (/^(?:[*+?]|\{\d)/.test(this.#source.slice(this.#at))) throw refused('a repetition is repeated');
    const from = sign === undefined ? Number(least) : sign === '+' ? 1 : 0;
    const to = sign === '?' ? 1 : sign !== undefined || (comma && most === '') ? Infinity : Number(most || least);
    if (from > MOST_REPEATS || (to !== Infinity && to > MOST_REPEATS) || to < from)
      throw refused(`a repetition has at most ${MOST_REPEATS} turns, the smaller number first`);
    return (next) => {
      let first = next;
      if (to === Infinity) {
        const fork: State & { kind: 'fork' } = { kind: 'fork', next: 0, other: next };
        first = this.#add(fork);
        fork.next = part(first);
      } else
        for (let turn = from; turn < to; turn++) first = this.#add({ kind: 'fork', next: part(first), other: next });
      for (let turn = 0; turn < from; turn++) first = part(first);
      return first;
    };
  }

  #atom(): Part {
    const char = this.#next();
    if (char === '(') {
      if (this.#peek() === '?' && !this.#eat('?:')) throw refused('look-around and names of groups are not there');
      const inner = this.#alternatives();
      if (!this.#eat(')')) throw refused('a group has no end');
      return inner;
    }
    if (char === '^') return (next) => this.#add({ kind: 'begin', next });
    if (char === '$') return (next) => this.#add({ kind: 'end', next });
    if (char === '[') return this.#take(this.#set());
    if (char === '.') return this.#take((code) => code !== 10 && code !== 13 && code !== 0x2028 && code !== 0x2029);
    if (char === '\\') return this.#take(this.#escape());
    if (/[*+?]/.test(char)) throw refused(`there is nothing that "${char}" could repeat`);
    return this.#take(this.#char(char));
  }

  #take(test: Test): Part {
    return (next) => this.#add({ kind: 'take', test, next });
  }

  #char(char: string): Test {
    const codes = this.#fold ? [char.toLowerCase(), char.toUpperCase()] : [char];
    const [one, other = one] = codes.map((each) => each.charCodeAt(0));
    return (code) => code === one || code === other;
  }

  #escape(): Test {
    const char = this.#next();
    const known = CLASSES[char];
    if (known) return known;
    if (/[a-zA-Z0-9]/.test(char)) throw refused(`\\${char} is not there: \\d \\w \\s \\D \\W \\S \\n \\t are`);
    return this.#char(char);
  }

  #set(): Test {
    const not = this.#eat('^');
    const tests: Test[] = [];
    while (!this.#eat(']')) {
      const char = this.#next();
      if (char === '\\') tests.push(this.#escape());
      else if (this.#peek() === '-' && this.#source[this.#at + 1] !== ']' && this.#eat('-')) {
        const last = this.#next();
        if (last === '\\' || last < char) throw refused('a range ends with a character that comes later');
        tests.push(this.#range(char, last));
      } else tests.push(this.#char(char));
    }
    return (code) => tests.some((test) => test(code)) !== not;
  }

  #range(first: string, last: string): Test {
    const [from, to] = [first.charCodeAt(0), last.charCodeAt(0)];
    const within: Test = (code) => code >= from && code <= to;
    if (!this.#fold) return within;
    return (code) => {
      const char = String.fromCharCode(code);
      return within(code) || within(char.toLowerCase().charCodeAt(0)) || within(char.toUpperCase().charCodeAt(0));
    };
  }

  #peek(): string {
    return this.#source[this.#at] ?? '';
  }

  #next(): string {
    const char = this.#source[this.#at++];
    if (char === undefined) throw refused('it ends too early');
    return char;
  }

  #eat(text: string): boolean {
    if (!this.#source.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }
}

const isDigit: Test = (code) => code >= 48 && code <= 57;
const isWord: Test = (code) =>
  isDigit(code) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 95;
const isSpace: Test = (code) => /\s/.test(String.fromCharCode(code));
const CLASSES: Readonly<Record<string, Test | undefined>> = {
  d: isDigit,
  w: isWord,
  s: isSpace,
  D: (code) => !isDigit(code),
  W: (code) => !isWord(code),
  S: (code) => !isSpace(code),
  n: (code) => code === 10,
  t: (code) => code === 9,
};
