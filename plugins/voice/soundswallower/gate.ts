/** Opens where something is louder than the noise, so that a quiet room costs next to nothing. */
import { NoiseFloor } from '@device-core/plugin-api/audio';

/** Frames that it stays open in quiet. */
const HOLD = 30;
const ONSET = 2;
const CLOSE_DB = 2;

export class Gate {
  readonly #marginDb: number;
  readonly #floor = new NoiseFloor();
  #loud = 0;
  /** A listener may begin in the midst of a word. */
  #open = HOLD;

  /** 0 is always open. */
  constructor(marginDb: number) {
    this.#marginDb = marginDb;
  }

  get floor(): number {
    return this.#floor.level ?? 0;
  }

  /** Is it open for a frame of this level, in decibels? */
  passes(level: number): boolean {
    const over = level - this.#floor.follow(level);
    if (this.#marginDb === 0) return true;
    this.#loud = over > this.#marginDb ? this.#loud + 1 : 0;
    if (this.#loud >= ONSET || (this.#open > 0 && over > this.#marginDb - CLOSE_DB)) this.#open = HOLD;
    else if (this.#open > 0) this.#open--;
    return this.#open > 0;
  }
}
