export interface CrashLimits {
  /** Pause before each restart in a row; the last one stays. */
  readonly backoffMs: readonly number[];
  /** So many crashes within `windowMs` are quarantine. */
  readonly limit: number;
  readonly windowMs: number;
}

export type CrashVerdict =
  | { readonly kind: 'retry'; readonly delayMs: number }
  | { readonly kind: 'quarantine'; readonly crashes: number };

/** What follows a crash (decisions D11). A run as long as the window ends the row. */
export class CrashPolicy {
  readonly #limits: CrashLimits;
  #times: number[] = [];
  #row = 0;

  constructor(limits: CrashLimits) {
    this.#limits = limits;
  }

  /** `ranMs`: how long the app had run. */
  crashed(now: number, ranMs: number): CrashVerdict {
    const { backoffMs, limit, windowMs } = this.#limits;
    if (ranMs >= windowMs) this.#row = 0;
    this.#times = [...this.#times.filter((time) => now - time < windowMs), now];
    if (this.#times.length >= limit) return { kind: 'quarantine', crashes: this.#times.length };
    const delayMs = backoffMs[Math.min(this.#row, backoffMs.length - 1)] ?? 0;
    this.#row += 1;
    return { kind: 'retry', delayMs };
  }

  /** The operator or an update released it. */
  forgive(): void {
    this.#times = [];
    this.#row = 0;
  }
}
