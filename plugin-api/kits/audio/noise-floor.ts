/** How loud it is where nobody speaks, from levels of frames in decibels. */
import { FRAME_MS } from '../../services/audio.ts';

/** It follows down at once, frame by frame, and up slowly: what is loud is speech at first. */
const FALL = 0.3;
const RISE_DB = 3;
/** Nobody speaks for so long without a gap between words: what stays as loud is noise that has begun. */
const WINDOW_MS = 2_400;
const PARTS = 6;
const PART_FRAMES = WINDOW_MS / FRAME_MS / PARTS;
/** Frames whose mean counts as a gap, and how much quieter than that mean the noise is taken for. */
const SMOOTH = 3;
const BELOW_DB = 2;

export class NoiseFloor {
  readonly #riseDb: number;
  #floor: number | undefined;
  readonly #recent: number[] = [];
  /** The quietest moment of each part of the window, the newest last. */
  readonly #minima: number[] = [Number.POSITIVE_INFINITY];
  #frames = 0;

  /** `riseDb`: decibels by which it may grow in a second while it is not clear whether it is noise. */
  constructor(riseDb: number = RISE_DB) {
    this.#riseDb = riseDb;
  }

  /** Undefined before the first frame. */
  get level(): number | undefined {
    return this.#floor;
  }

  /** The floor with this frame, too. */
  follow(level: number): number {
    const floor = this.#floor ?? level;
    const gap = this.#gap(level);
    const slow = Math.min(level, floor + (this.#riseDb * FRAME_MS) / 1_000);
    this.#floor = level < floor ? floor + FALL * (level - floor) : Math.max(slow, gap - BELOW_DB);
    return this.#floor;
  }

  /** The quietest moment of the window; minus infinity until there was a whole one. */
  #gap(level: number): number {
    this.#recent.push(level);
    if (this.#recent.length > SMOOTH) this.#recent.shift();
    const mean = this.#recent.reduce((sum, one) => sum + one, 0) / this.#recent.length;
    if (this.#recent.length === SMOOTH)
      this.#minima[this.#minima.length - 1] = Math.min(mean, this.#minima.at(-1) ?? mean);
    this.#frames++;
    if (this.#frames % PART_FRAMES === 0) {
      this.#minima.push(mean);
      if (this.#minima.length > PARTS + 1) this.#minima.shift();
    }
    return this.#minima.length > PARTS ? Math.min(...this.#minima) : Number.NEGATIVE_INFINITY;
  }
}
