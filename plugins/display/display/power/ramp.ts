/** From one level to another in steps that the eye takes for one movement. One timer, and none once it is there. */
import type { Scope } from '@device-core/plugin-api';
import { between } from './level.ts';

export interface RampOptions {
  readonly scope: Scope;
  /** Puts it on the glass. A step is left out while the one before is under way. */
  readonly apply: (level: number) => Promise<void>;
  readonly stepMs: () => number;
}

export class Ramp {
  readonly #options: RampOptions;
  /** On the glass, as far as it is known. */
  #level: number;
  #from = 0;
  #to: number;
  #began = 0;
  #ms = 0;
  #timer: Disposable | undefined;
  #applying = false;
  /** The glass is another one and knows nothing. */
  #stale = false;
  #done: (() => void)[] = [];

  constructor(level: number, options: RampOptions) {
    this.#options = options;
    this.#level = level;
    this.#to = level;
  }

  get level(): number {
    return this.#level;
  }

  /** Resolves when it is there, or goes elsewhere. */
  go(to: number, ms: number): Promise<void> {
    this.#settle();
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.#from = this.#level;
    this.#to = to;
    this.#ms = ms;
    this.#began = this.#options.scope.clock.monotonic();
    const there = new Promise<void>((resolve) => this.#done.push(resolve));
    void this.#step();
    return there;
  }

  /** A new glass gets the level again, even where it has not changed. */
  again(): void {
    this.#stale = true;
    void this.#step();
  }

  async #step(): Promise<void> {
    if (this.#applying) return;
    const { scope, apply } = this.#options;
    const stepMs = this.#options.stepMs();
    const share = this.#ms <= 0 ? 1 : (scope.clock.monotonic() - this.#began) / this.#ms;
    // The first step is taken at once, else nothing would be seen of it for a while.
    const level = between(this.#from, this.#to, share === 0 ? stepMs / this.#ms : share);
    if (this.#stale || level !== this.#level) {
      this.#stale = false;
      this.#level = level;
      this.#applying = true;
      await apply(level);
      this.#applying = false;
    }
    if (scope.signal.aborted) return this.#settle();
    if (this.#level === this.#to && !this.#stale) return this.#settle();
    this.#timer ??= scope.timeout('brightness', stepMs, () => {
      this.#timer = undefined;
      return this.#step();
    });
  }

  #settle(): void {
    const done = this.#done;
    this.#done = [];
    for (const resolve of done) resolve();
  }
}
