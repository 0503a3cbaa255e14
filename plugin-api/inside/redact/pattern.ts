/**
 * Regular expressions that may look at every line of the log. This reader counts and bounds the ways in which one can
 * match from one place, because an expression goes back and tries again as often as it has ways. It refuses all syntax
 * that it does not know. Pure.
 */

/** Ways from one place of a text. */
export const MOST_WAYS = 2_000;
export const LONGEST_PATTERN = 200;
const MOST_TIMES = 256;
const DEEPEST = 10;

/** The ways in which a part of a pattern can match, and the fewest characters that it takes. */
interface Part {
  readonly ways: number;
  readonly least: number;
}

/** Throws an Error that says what is wrong with it. */
export function checkPattern(pattern: string): void {
  if (pattern.length > LONGEST_PATTERN) throw new Error(`it has more than ${LONGEST_PATTERN} characters`);
  const { ways, least } = new Reader(pattern).whole();
  if (ways > MOST_WAYS)
    throw new Error(`it can match in ${ways} ways from one place, ${MOST_WAYS} are the most: bound its repetitions`);
  if (least === 0) throw new Error('it matches the empty text');
}

class Reader {
  readonly #pattern: string;
  #at = 0;

  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  whole(): Part {
    const part = this.#choice(0);
    if (this.#at < this.#pattern.length) throw this.#refuse('there is a closing parenthesis too many');
    return part;
  }

  #choice(depth: number): Part {
    if (depth > DEEPEST) throw this.#refuse('its groups are too deep');
    let { ways, least } = this.#sequence(depth);
    while (this.#takes('|')) {
      const other = this.#sequence(depth);
      ways += other.ways;
      least = Math.min(least, other.least);
    }
    return { ways, least };
  }

  #sequence(depth: number): Part {
    let [ways, least] = [1, 0];
    while (this.#at < this.#pattern.length && !'|)'.includes(this.#pattern[this.#at]!)) {
      const part = this.#repeated(this.#atom(depth));
      ways *= part.ways;
      least += part.least;
    }
    return { ways, least };
  }

  #atom(depth: number): Part {
    const sign = this.#pattern[this.#at++]!;
    if (sign === '(') {
      if (this.#takes('?') && !this.#takes(':')) throw this.#refuse('of groups with a question mark only (?: is known');
      const part = this.#choice(depth + 1);
      if (!this.#takes(')')) throw this.#refuse('a parenthesis is not closed');
      return part;
    }
    if (sign === '[') return this.#class();
    if (sign === '\\') return this.#escape();
    if (sign === '^' || sign === '$') return { ways: 1, least: 0 };
    if ('*+?{}]'.includes(sign)) throw this.#refuse(`${sign} stands alone`);
    return { ways: 1, least: 1 };
  }

  #class(): Part {
    for (; this.#at < this.#pattern.length; this.#at++) {
      const sign = this.#pattern[this.#at];
      if (sign === '\\') this.#at++;
      else if (sign === ']') {
        this.#at++;
        return { ways: 1, least: 1 };
      }
    }
    throw this.#refuse('a bracket is not closed');
  }

  #escape(): Part {
    const sign = this.#pattern[this.#at++] ?? '';
    if (sign === 'b' || sign === 'B') return { ways: 1, least: 0 };
    if (/[dDwWsSnrt^$\\.*+?()[\]{}|/]/.test(sign)) return { ways: 1, least: 1 };
    throw this.#refuse(`\\${sign} is not known`);
  }

  #repeated(part: Part): Part {
    const [low, high] = this.#times();
    if (high > MOST_TIMES)
      throw this.#refuse(`a repetition has no end, or one beyond ${MOST_TIMES}: write {1,${MOST_TIMES}} for +`);
    let ways = 0;
    for (let times = low; times <= high && ways <= MOST_WAYS; times++) ways += part.ways ** times;
    return { ways, least: part.least * low };
  }

  #times(): readonly [low: number, high: number] {
    const rest = this.#pattern.slice(this.#at);
    const [all = '', sign, low, comma, high] = /^(?:([*+?])|\{(\d{1,4})(,?)(\d{0,4})\})\??/.exec(rest) ?? [];
    this.#at += all.length;
    if (all === '') return [1, 1];
    if (sign === '?') return [0, 1];
    if (sign !== undefined) return [sign === '+' ? 1 : 0, Number.POSITIVE_INFINITY];
    if (comma === '') return [Number(low), Number(low)];
    return [Number(low), high === '' ? Number.POSITIVE_INFINITY : Number(high)];
  }

  #takes(sign: string): boolean {
    if (this.#pattern[this.#at] !== sign) return false;
    this.#at++;
    return true;
  }

  #refuse(why: string): Error {
    return new Error(`${why}, at character ${this.#at}`);
  }
}
