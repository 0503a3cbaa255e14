/** Dropped toasts by app: the app hears at once, then at most once a second, and /health names it. */
import type { Clock } from '@device-core/plugin-api';
import type { DropReason } from './toast-queue.ts';

export type Loss = Readonly<Record<DropReason, number>> & { readonly count: number };
const NOTHING: Loss = { count: 0, full: 0, late: 0 };
const EVERY_MS = 1_000;
/** Maximum apps with a count; beyond it, the one whose last loss is oldest is forgotten. */
const MOST = 256;

export class Losses implements Disposable {
  readonly #clock: Clock;
  readonly #tell: (app: string, loss: Loss) => void;
  readonly #untold = new Map<string, Loss>();
  readonly #total = new Map<string, number>();
  #timer: Disposable | undefined;

  constructor(clock: Clock, tell: (app: string, loss: Loss) => void) {
    this.#clock = clock;
    this.#tell = tell;
  }

  /** Since the start, by app. */
  get total(): ReadonlyMap<string, number> {
    return this.#total;
  }

  add(app: string | undefined, reason: DropReason): void {
    const name = app ?? 'core';
    const total = (this.#total.get(name) ?? 0) + 1;
    this.#total.delete(name);
    this.#total.set(name, total);
    const [first] = this.#total.keys();
    if (this.#total.size > MOST && first !== undefined) this.#total.delete(first);
    if (app === undefined) return;
    const loss = this.#untold.get(app) ?? NOTHING;
    this.#untold.set(app, { ...loss, count: loss.count + 1, [reason]: loss[reason] + 1 });
    if (!this.#timer) this.#flush();
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
  }

  #flush(): void {
    for (const [app, loss] of this.#untold) this.#tell(app, loss);
    this.#untold.clear();
    this.#timer = this.#clock.after(EVERY_MS, () => {
      this.#timer = undefined;
      if (this.#untold.size > 0) this.#flush();
    });
  }
}
