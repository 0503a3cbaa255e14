/** What follows a failure of something that is started again by itself, a plugin or an app (decisions D11). */
export interface CrashLimits {
  /** Milliseconds of pause before each start in a row; the last one stays. */
  readonly backoffMs: readonly number[];
  /** So many failures within `windowMs` are quarantine. */
  readonly limit: number;
  readonly windowMs: number;
}

/** Counts the failures of one plugin or app. It keeps no time of its own. */
export class CrashPolicy {
  readonly #limits: CrashLimits;
  #failures: number[] = [];
  #row = 0;

  constructor(limits: CrashLimits) {
    this.#limits = limits;
  }

  /** Failures within the window, the last one counted. */
  get count(): number {
    return this.#failures.length;
  }

  /**
   * The pause before the next start, milliseconds; undefined is quarantine: it is left alone until somebody releases it. `now` and `ranMs`, how
   * long it had run, are milliseconds. A run as long as the window ends the row.
   */
  failed(now: number, ranMs: number): number | undefined {
    const { backoffMs, limit, windowMs } = this.#limits;
    if (ranMs >= windowMs) this.#row = 0;
    this.#failures = [...this.#failures.filter((at) => now - at < windowMs), now];
    if (this.#failures.length >= limit) return undefined;
    return backoffMs[Math.min(this.#row++, backoffMs.length - 1)] ?? 0;
  }

  /** It was released by hand, or is not what it was. */
  forgive(): void {
    this.#failures = [];
    this.#row = 0;
  }
}
