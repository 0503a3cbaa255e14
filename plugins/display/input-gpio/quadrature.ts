/** A knob with two lines in quadrature, pure: levels go in, detents come out. */

/** Positions of the two lines in the turn: 00, 01, 11, 10. */
const PLACE = [0, 1, 3, 2] as const;

export class Quadrature {
  readonly #steps: 1 | 2 | 4;
  readonly #levels: [a: 0 | 1, b: 0 | 1];
  /** Quarters of a turn of the lines since the start; its remainder by four is always where the lines are. */
  #position = 0;
  #direction: 1 | -1 = 1;
  #detent = 0;

  /** `steps`: quarters from detent to detent. */
  constructor(steps: 1 | 2 | 4, levels: readonly [a: 0 | 1, b: 0 | 1]) {
    this.#steps = steps;
    this.#levels = [...levels];
  }

  /** Detents since the last call, clockwise is positive: `a` comes before `b`. Bouncing of a contact goes there and back and is nothing. */
  sense(line: 'a' | 'b', level: 0 | 1): number {
    const before = place(this.#levels);
    this.#levels[line === 'a' ? 0 : 1] = level;
    const moved = (place(this.#levels) - before + 4) % 4;
    if (moved === 0) return 0;
    // An edge was lost where two quarters passed at once: it went on as it went before.
    const quarters = moved === 2 ? 2 * this.#direction : moved === 1 ? 1 : -1;
    this.#direction = quarters > 0 ? 1 : -1;
    this.#position += quarters;
    if (this.#position % this.#steps !== 0) return 0;
    const detents = (this.#position - this.#detent) / this.#steps;
    this.#detent = this.#position;
    return detents;
  }
}

function place([a, b]: readonly [a: 0 | 1, b: 0 | 1]): number {
  return PLACE[(b << 1) | a]!;
}
