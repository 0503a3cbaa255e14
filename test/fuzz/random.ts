/** Random numbers that are the same for the same seed, target and case: a case is found again by its number. */

export class Random {
  #state: number;

  constructor(...parts: readonly (number | string)[]) {
    // FNV-1a over the parts.
    let hash = 0x811c9dc5;
    for (const character of parts.join('\0')) hash = Math.imul(hash ^ character.codePointAt(0)!, 0x01000193);
    this.#state = hash >>> 0;
  }

  /** 32 bits: mulberry32. */
  bits(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }

  /** 0 to below `end`. */
  below(end: number): number {
    return end <= 1 ? 0 : Math.floor((this.bits() / 2 ** 32) * end);
  }

  chance(share: number): boolean {
    return this.bits() / 2 ** 32 < share;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.below(256)));
  }
}
