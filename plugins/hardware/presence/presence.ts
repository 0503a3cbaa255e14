/** Presence of a person, pure: motion and time go in, a state and its confidence come out. */

export interface Presence {
  readonly state: 'present' | 'absent' | 'unknown';
  /** 0 to 1, in steps of a quarter. */
  readonly confidence: number;
}

export interface PresenceSettings {
  /** Milliseconds that motion must last to count while the state is not `present`. */
  readonly confirmMs: number;
  /** Milliseconds for which presence holds without motion. */
  readonly holdMs: number;
}

const STEPS = 4;

export class PresenceState {
  readonly #settings: PresenceSettings;
  #motion: boolean | undefined;
  /** When motion began, or ended. */
  #since = 0;
  #present = false;

  constructor(settings: PresenceSettings) {
    this.#settings = settings;
  }

  /** The detector says so, at `now` milliseconds; undefined: it cannot be asked. */
  sense(motion: boolean | undefined, now: number): void {
    this.#advance(now);
    if (motion === this.#motion) return;
    // After a time without news nothing is known of what was before.
    if (this.#motion === undefined || motion === undefined) this.#present = motion === true;
    this.#motion = motion;
    this.#since = now;
  }

  at(now: number): Presence {
    this.#advance(now);
    if (this.#motion === undefined) return { state: 'unknown', confidence: 0 };
    if (this.#motion) return this.#present ? { state: 'present', confidence: 1 } : { state: 'absent', confidence: 0.5 };
    const left = 1 - (now - this.#since) / this.#settings.holdMs;
    if (!this.#present) return { state: 'absent', confidence: 1 };
    return { state: 'present', confidence: Math.max(1, Math.ceil(left * STEPS)) / STEPS };
  }

  /** When something changes by itself; infinity where only the detector can. */
  next(now: number): number {
    const { confirmMs, holdMs } = this.#settings;
    if (this.#motion === undefined) return Number.POSITIVE_INFINITY;
    if (this.#motion) return this.#present ? Number.POSITIVE_INFINITY : this.#since + confirmMs;
    if (!this.#present) return Number.POSITIVE_INFINITY;
    const step = holdMs / STEPS;
    return this.#since + (Math.floor((now - this.#since) / step) + 1) * step;
  }

  #advance(now: number): void {
    const { confirmMs, holdMs } = this.#settings;
    if (this.#motion === true && now - this.#since >= confirmMs) this.#present = true;
    if (this.#motion === false && now - this.#since >= holdMs) this.#present = false;
  }
}
