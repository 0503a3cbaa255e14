import { type Clock, CoreError, type Logger } from '@device-core/plugin-api';
import type { RendererReport } from '@device-core/plugin-api/services/renderer';
import { PaintBudget } from './paint-budget.ts';

/** Milliseconds for which a surface that was closed for its cost stays closed, and is named in /health. */
const CLOSED_MS = 30_000;
const NAMED_MS = 600_000;

/** CPU of painting each app's surface: it is slowed above the limit, and closed where that does not help. */
export class AppCosts {
  /** CPU milliseconds a frame. */
  readonly paintMs: number;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #budgets = new Map<string, PaintBudget>();
  readonly #closed = new Map<string, { readonly at: number; readonly reason: string }>();

  constructor(paintMs: number, clock: Clock, log: Logger) {
    this.paintMs = paintMs;
    this.#clock = clock;
    this.#log = log;
  }

  /** Throws SURFACE_TOO_COSTLY while the surface of an app stays closed. */
  checkOpen(app: string): void {
    const closed = this.#closed.get(app);
    if (!closed) return;
    const left = closed.at + CLOSED_MS - this.#clock.monotonic();
    if (left > 0)
      throw new CoreError('SURFACE_TOO_COSTLY', { app, reason: closed.reason, retryAfterMs: Math.ceil(left) });
  }

  /** Judges the cost of the last `ms`. `close` is the reason of a surface that has to be closed. */
  judge(
    app: string,
    cost: RendererReport['surfaces'][number],
    ms: number,
  ): { readonly slow: boolean; readonly close?: string } {
    const budget = this.#budgets.get(app) ?? new PaintBudget(this.paintMs);
    this.#budgets.set(app, budget);
    const verdict = budget.judge(cost);
    return verdict === 'close' ? { slow: true, close: this.#close(app, budget, ms) } : { slow: verdict === 'slow' };
  }

  forget(app: string): void {
    this.#budgets.delete(app);
  }

  /** Apps whose surfaces were closed, each with its reason. */
  get costly(): readonly { readonly app: string; readonly reason: string }[] {
    const since = this.#clock.monotonic() - NAMED_MS;
    return [...this.#closed].flatMap(([app, { at, reason }]) => (at < since ? [] : [{ app, reason }]));
  }

  #close(app: string, budget: PaintBudget, ms: number): string {
    const now = this.#clock.monotonic();
    const took = `a frame of it took ${budget.cost.toFixed(1)} ms of CPU over the last ${Math.round(ms)} ms`;
    const reason = `${took}, ${this.paintMs} ms are the limit`;
    const former = [...this.#closed.keys()].filter((one) => this.#closed.get(one)!.at < now - NAMED_MS);
    for (const one of former) this.#closed.delete(one);
    this.#closed.set(app, { at: now, reason });
    this.#budgets.delete(app);
    this.#log.warn({ app, cpuMs: budget.cost }, `the surface of ${app} was closed: ${reason}`);
    return reason;
  }
}
