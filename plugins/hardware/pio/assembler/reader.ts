/** Words of one line, read from left to right. */
import { fault, type Line } from './words.ts';

/** Value of a name; undefined where the program has none. */
export type Names = (name: string) => number | undefined;

const BY_RANK: readonly (readonly string[])[] = [['|'], ['^'], ['&'], ['<<', '>>'], ['+', '-'], ['*', '/']];
const UNARY = BY_RANK.length;
/** Parentheses and signs within each other. */
const DEEPEST = 32;
const BITS = 32;

export class Reader {
  readonly #line: Line;
  readonly #names: Names;
  #at = 0;
  #depth = 0;

  constructor(line: Line, names: Names) {
    this.#line = line;
    this.#names = names;
  }

  get over(): boolean {
    return this.#at >= this.#line.words.length;
  }

  /** Next word in small letters, for keywords. */
  get next(): string {
    return this.#line.words[this.#at]?.toLowerCase() ?? '';
  }

  fault(reason: string): never {
    fault(this.#line.number, reason);
  }

  take(): string {
    if (this.over) this.fault('it ends too early');
    return this.#line.words[this.#at++]!;
  }

  /** Takes the next word where it is one of these. */
  takes(...words: readonly string[]): string | undefined {
    const { next } = this;
    if (next === '' || !words.includes(next)) return undefined;
    this.#at++;
    return next;
  }

  needs(word: string): void {
    if (!this.takes(word)) this.fault(`"${word}" is missing${this.over ? '' : ` before "${this.next}"`}`);
  }

  name(): string {
    const word = this.take();
    if (!/^[a-z_]/i.test(word)) this.fault(`"${word}" is no name`);
    return word;
  }

  /** Code of the next word in a table of keywords. */
  choice(table: Readonly<Record<string, number>>, of: string): number {
    const word = this.take().toLowerCase();
    const code = Object.hasOwn(table, word) ? table[word] : undefined;
    return code ?? this.fault(`"${word}" is no ${of}; there are ${Object.keys(table).join(', ')}`);
  }

  /** An expression within limits, both included. */
  number(of: string, least: number, most: number): number {
    const value = this.expression();
    if (value < least || value > most) this.fault(`the ${of} ${value} is not within ${least} and ${most}`);
    return value;
  }

  expression(rank = 0): number {
    if (rank === UNARY) return this.#unary();
    let value = this.expression(rank + 1);
    for (let sign = this.takes(...BY_RANK[rank]!); sign !== undefined; sign = this.takes(...BY_RANK[rank]!))
      value = this.#apply(sign, value, this.expression(rank + 1));
    return value;
  }

  #unary(): number {
    if (++this.#depth > DEEPEST) this.fault(`an expression is deeper than ${DEEPEST}`);
    try {
      if (this.takes('-')) return -this.#unary();
      if (this.takes('::')) return reversed(this.#unary());
      if (!this.takes('(')) return this.#value();
      const value = this.expression();
      this.needs(')');
      return value;
    } finally {
      this.#depth--;
    }
  }

  #value(): number {
    const word = this.take();
    if (/^[0-9]/.test(word)) return this.#within(Number(word));
    if (!/^[a-z_]/i.test(word)) this.fault(`"${word}" is no value`);
    return this.#names(word) ?? this.fault(`"${word}" is no name of this program`);
  }

  #apply(sign: string, left: number, right: number): number {
    switch (sign) {
      case '|':
        return left | right;
      case '^':
        return left ^ right;
      case '&':
        return left & right;
      case '<<':
        return left << right;
      case '>>':
        return left >>> right;
      case '+':
        return this.#within(left + right);
      case '-':
        return this.#within(left - right);
      case '*':
        return this.#within(left * right);
      default:
        return right === 0 ? this.fault('it divides by 0') : Math.trunc(left / right);
    }
  }

  #within(value: number): number {
    if (Math.abs(value) > 2 ** BITS - 1) this.fault(`a value is larger than ${BITS} bits`);
    return value;
  }
}

function reversed(value: number): number {
  let result = 0;
  for (let bit = 0; bit < BITS; bit++) result = (result << 1) | ((value >>> bit) & 1);
  return result >>> 0;
}
