/** Opens where something is louder than the noise, so that a quiet room costs next to nothing. */
import { FRAME_MS } from '@device-core/plugin-api';

const FALL = 0.3;
const RISE_DB = 3;
/** Frames that it stays open in quiet. */
const HOLD = 30;
const ONSET = 2;
const CLOSE_DB = 2;

export class Gate {
  readonly #marginDb: number;
  #floor: number | undefined;
  #loud = 0;
  /** Who begins to listen may do so in the midst of a word. */
  #open = HOLD;

  /** 0 is always open. */
  constructor(marginDb: number) {
    this.#marginDb = marginDb;
  }

  get floor(): number {
    return this.#floor ?? 0;
  }

  /** Is it open for a frame of this level, in decibels? */
  passes(level: number): boolean {
    const floor = this.#floor ?? level;
    this.#floor =
      level < floor ? floor + FALL * (level - floor) : Math.min(level, floor + (RISE_DB * FRAME_MS) / 1_000);
    if (this.#marginDb === 0) return true;
    const over = level - this.#floor;
    this.#loud = over > this.#marginDb ? this.#loud + 1 : 0;
    if (this.#loud >= ONSET || (this.#open > 0 && over > this.#marginDb - CLOSE_DB)) this.#open = HOLD;
    else if (this.#open > 0) this.#open--;
    return this.#open > 0;
  }
}
