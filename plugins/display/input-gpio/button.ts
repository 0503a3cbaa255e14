/**
 * A button on a line, pure: levels and time go in, what it does comes out. The first edge counts at once; contacts that
 * bounce are waited for after it.
 */

export interface ButtonSettings {
  readonly debounceMs: number;
  /** While it is held, after `delayMs` and then every `everyMs`; 0: never. */
  readonly repeat: { readonly delayMs: number; readonly everyMs: number };
}

export type ButtonPhase = 'down' | 'up' | 'repeat';

/** A button that is held for so long is stuck, or something lies on it. */
export const MOST_REPEATED_MS = 30_000;

export class Button {
  readonly #settings: ButtonSettings;
  /** Level of the line, and the level last reported. */
  #level = false;
  #told = false;
  /** Time at which the contacts are quiet after the edge last reported. */
  #quiet = Number.NEGATIVE_INFINITY;
  #repeat = Number.POSITIVE_INFINITY;
  #downAt = 0;

  constructor(settings: ButtonSettings) {
    this.#settings = settings;
  }

  /** The line says so: pressed or not. */
  sense(pressed: boolean, now: number): readonly ButtonPhase[] {
    const told = this.tick(now);
    this.#level = pressed;
    return [...told, ...this.#look(now)];
  }

  tick(now: number): readonly ButtonPhase[] {
    const told = this.#look(now);
    if (!this.#told || now < this.#repeat) return told;
    const { everyMs } = this.#settings.repeat;
    // One however late it is: what a busy machine missed is not made up for.
    this.#repeat = now + everyMs;
    if (this.#repeat - this.#downAt > MOST_REPEATED_MS) this.#repeat = Number.POSITIVE_INFINITY;
    return [...told, 'repeat'];
  }

  /** When something happens by itself; infinity where only the line can. */
  next(): number {
    return Math.min(this.#level === this.#told ? Number.POSITIVE_INFINITY : this.#quiet, this.#repeat);
  }

  /** It cannot be asked any more: it is as if it had never been pressed. */
  reset(): void {
    this.#level = false;
    this.#told = false;
    this.#quiet = Number.NEGATIVE_INFINITY;
    this.#repeat = Number.POSITIVE_INFINITY;
  }

  #look(now: number): readonly ButtonPhase[] {
    if (this.#level === this.#told || now < this.#quiet) return [];
    const { debounceMs, repeat } = this.#settings;
    this.#told = this.#level;
    this.#quiet = now + debounceMs;
    this.#downAt = now;
    this.#repeat = this.#told && repeat.everyMs > 0 ? now + repeat.delayMs : Number.POSITIVE_INFINITY;
    return [this.#told ? 'down' : 'up'];
  }
}
