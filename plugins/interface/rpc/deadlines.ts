/** Many deadlines, one timer: answered calls leave it armed, so that a busy plugin hardly ever sets one. */
import type { Scope } from '@device-core/plugin-api';

export interface Expiring {
  /** Milliseconds of the monotonic clock. */
  readonly expires: number;
  expire(): void;
}

export class Deadlines {
  readonly #scope: Scope;
  readonly #pending = new Set<Expiring>();
  #timer: Disposable | undefined;
  #armedFor = Number.POSITIVE_INFINITY;

  constructor(scope: Scope) {
    this.#scope = scope;
  }

  get now(): number {
    return this.#scope.clock.monotonic();
  }

  add(entry: Expiring): void {
    this.#pending.add(entry);
    if (entry.expires < this.#armedFor) this.#arm(entry.expires);
  }

  delete(entry: Expiring): void {
    this.#pending.delete(entry);
  }

  #arm(at: number): void {
    if (this.#scope.signal.aborted) return;
    this.#timer?.[Symbol.dispose]();
    this.#armedFor = at;
    this.#timer = this.#scope.timeout('deadlines of calls', Math.max(1, Math.ceil(at - this.now)), () => this.#fire());
  }

  #fire(): void {
    this.#timer = undefined;
    this.#armedFor = Number.POSITIVE_INFINITY;
    const { now } = this;
    let next = Number.POSITIVE_INFINITY;
    for (const entry of [...this.#pending])
      if (entry.expires <= now) {
        this.#pending.delete(entry);
        entry.expire();
      } else next = Math.min(next, entry.expires);
    if (next < this.#armedFor) this.#arm(next);
  }
}
