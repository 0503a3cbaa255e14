/** Paint cost of an app: above its budget it is slowed down, and if that does not help its surface is closed. */
import type { SurfaceCost } from '@device-core/plugin-api/services/renderer';

/** Reports above the budget, one after the other: the first slows it down, so many more close it. */
const STRIKES = 3;
/** Reports within the budget after which it is as fast as before. */
const FORGIVEN = 10;
/** One frame says little: the first of a scene lays out its texts and decodes its pictures. */
const LEAST_FRAMES = 3;

export const SLOWED_FPS = 10;

export type Verdict = 'fine' | 'slow' | 'close';

export class PaintBudget {
  readonly #limitMs: number;
  #strikes = 0;
  #clean = 0;
  #slowed = false;
  /** Milliseconds of CPU a frame, in the last report that says something. */
  cost = 0;

  /** `limitMs`: of CPU a frame. */
  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  /** A report covers about a second. */
  judge({ frames, cpuMs }: Pick<SurfaceCost, 'frames' | 'cpuMs'>): Verdict {
    if (frames < LEAST_FRAMES) return this.#slowed ? 'slow' : 'fine';
    this.cost = cpuMs / frames;
    if (this.cost > this.#limitMs) {
      this.#clean = 0;
      this.#strikes++;
      this.#slowed = true;
      return this.#strikes > STRIKES ? 'close' : 'slow';
    }
    this.#strikes = 0;
    this.#clean++;
    if (this.#clean >= FORGIVEN) this.#slowed = false;
    return this.#slowed ? 'slow' : 'fine';
  }
}
