/** Many deadlines, one timer: answered calls leave it armed, so that a busy plugin hardly ever sets one. */
import type { Scope } from '@device-core/plugin-api';

export abstract class Expiring {
  /** Milliseconds of the monotonic clock. */
  readonly expires: number;
  /** Among those that wait, of which each knows its place: whoever leaves is replaced by the last. */
  place = -1;

  constructor(expires: number) {
    this.expires = expires;
  }

  abstract expire(): void;
}

/** Something to be done then. */
export class Later extends Expiring {
  readonly expire: () => void;

  constructor(expires: number, fn: () => void) {
    super(expires);
    this.expire = fn;
  }
}

export class Deadlines {
  readonly #scope: Scope;
  readonly #pending: Expiring[] = [];
  #timer: Disposable | undefined;
  #armedFor = Number.POSITIVE_INFINITY;

  constructor(scope: Scope) {
    this.#scope = scope;
  }

  get now(): number {
    return this.#scope.clock.monotonic();
  }

  add(entry: Expiring): void {
    entry.place = this.#pending.push(entry) - 1;
    if (entry.expires < this.#armedFor) this.#arm(entry.expires);
  }

  delete(entry: Expiring): void {
    if (entry.place < 0) return;
    const last = this.#pending.pop()!;
    if (last !== entry) {
      this.#pending[entry.place] = last;
      last.place = entry.place;
    }
    entry.place = -1;
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
        this.delete(entry);
        entry.expire();
      } else next = Math.min(next, entry.expires);
    if (next < this.#armedFor) this.#arm(next);
  }
}
