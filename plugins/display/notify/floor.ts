/**
 * When something may be shown: not without a screen, during a voice turn, below a question, or on a dark panel. Its
 * clock stands still but for the last.
 */
import type { Clock } from '@device-core/plugin-api';

export type Holder = 'voice' | 'prompt' | 'screen';

export class Floor {
  readonly #clock: Clock;
  readonly #changed: () => void;
  /** Holder `screen` stays until a screen is reported. */
  readonly #holders = new Set<Holder>(['screen']);
  #dark = false;
  #heldSince: number;
  #heldMs = 0;

  constructor(clock: Clock, changed: () => void) {
    this.#clock = clock;
    this.#changed = changed;
    this.#heldSince = clock.monotonic();
  }

  get open(): boolean {
    return this.#holders.size === 0 && !this.#dark;
  }

  /** Milliseconds in which the person could have seen something, had the panel been on. */
  now(): number {
    const now = this.#holders.size > 0 ? this.#heldSince : this.#clock.monotonic();
    return now - this.#heldMs;
  }

  hold(who: Holder, held: boolean): void {
    if (this.#holders.has(who) === held) return;
    const before = this.#holders.size;
    if (held) this.#holders.add(who);
    else this.#holders.delete(who);
    if (before === 0) this.#heldSince = this.#clock.monotonic();
    else if (this.#holders.size === 0) this.#heldMs += this.#clock.monotonic() - this.#heldSince;
    this.#changed();
  }

  dark(dark: boolean): void {
    if (this.#dark === dark) return;
    this.#dark = dark;
    this.#changed();
  }
}
