/** What follows a failure of a plugin: a pause and another start, or quarantine. The clock is given, so that tests need not wait. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  at(time: number, fn: () => void): Disposable;
}

export const SYSTEM_CLOCK: Clock = {
  now: Date.now,
  at(time, fn) {
    const timer = setTimeout(fn, Math.max(0, time - Date.now()));
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
};

/** Before each start in a row; the last one stays. */
const PAUSES_MS = [1_000, 2_000, 4_000, 8_000, 16_000, 30_000] as const;
/** A plugin that failed this often within the window is left alone until the operator releases it. */
const QUARANTINE = { failures: 5, windowMs: 600_000 };

export class CrashPolicy {
  #failures: number[] = [];
  #row = 0;

  /** The pause before the next start, milliseconds; undefined is quarantine. A run as long as the window ends the row. */
  failed(now: number, ranMs: number): number | undefined {
    if (ranMs >= QUARANTINE.windowMs) this.#row = 0;
    this.#failures = [...this.#failures.filter((at) => now - at < QUARANTINE.windowMs), now];
    if (this.#failures.length >= QUARANTINE.failures) return undefined;
    return PAUSES_MS[Math.min(this.#row++, PAUSES_MS.length - 1)];
  }

  /** The operator released it, or it is not what it was. */
  forgive(): void {
    this.#failures = [];
    this.#row = 0;
  }
}
