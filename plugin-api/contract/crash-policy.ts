/** Limits after failures of a plugin or app that is restarted automatically (decisions D11). */
export interface CrashLimits {
  /** Milliseconds of pause before each start in a row; the last one stays. */
  readonly backoffMs: readonly number[];
  /** So many failures within `windowMs` are quarantine. */
  readonly limit: number;
  readonly windowMs: number;
}

/** State of a policy, to be kept over a restart. Plain data. */
export interface CrashState {
  /** Milliseconds since each failure within the window, the oldest first. */
  readonly agesMs: readonly number[];
  /** Pauses in a row so far. */
  readonly row: number;
}

/** Counts the failures of one plugin or app. It reads no clock. */
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
   * Pause before the next start, milliseconds; undefined is quarantine: it is left alone until an operator releases it.
   * `now` and `ranMs`, how long it had run, are milliseconds. A run as long as the window ends the row.
   */
  failed(now: number, ranMs: number): number | undefined {
    const { backoffMs, limit, windowMs } = this.#limits;
    if (ranMs >= windowMs) this.#row = 0;
    this.#failures = [...this.#failures.filter((at) => now - at < windowMs), now];
    if (this.#failures.length >= limit) return undefined;
    return backoffMs[Math.min(this.#row++, backoffMs.length - 1)] ?? 0;
  }

  state(now: number): CrashState {
    return { agesMs: this.#failures.map((at) => now - at), row: this.#row };
  }

  /** Goes on where another left off. */
  resume({ agesMs, row }: CrashState, now: number): void {
    this.#failures = agesMs.map((age) => now - age);
    this.#row = row;
  }

  /** It was released by hand, or is not what it was. */
  forgive(): void {
    this.#failures = [];
    this.#row = 0;
  }
}
