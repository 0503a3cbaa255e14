/** Repeatable chance for faults: xorshift32. */
export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    // The generator must not start at 0, and small seeds should not start alike.
    this.#state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) | 1;
  }

  /** 0 <= value < 1. */
  next(): number {
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    return (this.#state >>> 0) / 0x1_0000_0000;
  }

  hit(share: number): boolean {
    return share > 0 && this.next() < share;
  }

  /** An integer from 0 to `limit` - 1. */
  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  /** Trials before the next hit of an event of this probability. */
  gap(probability: number): number {
    return Math.floor(Math.log(1 - this.next()) / Math.log(1 - probability));
  }
}
