import type { Scope } from '../../contract/scope.ts';

/** One endpoint, as requests see it that wait for their turn on it. */
export class Lane {
  readonly #scope: Scope;
  readonly #name: string;
  /** Milliseconds that the requests on it may take, one after the other. */
  #owed = 0;
  readonly #waiting = new Set<() => void>();

  constructor(scope: Scope, name: string) {
    this.#scope = scope;
    this.#name = name;
  }

  /** Adds a request of at most `ms`, and returns what all of them may take. */
  enter(ms: number): number {
    this.#owed += ms;
    return this.#owed;
  }

  leave(ms: number): void {
    this.#owed -= ms;
    for (const wake of this.#waiting) wake();
  }

  /** Resolves after the next request on it is over, or after `ms`. */
  next(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    const timer = this.#scope.timeout(`wait for ${this.#name}`, ms, resolve);
    return promise.finally(() => {
      timer[Symbol.dispose]();
      this.#waiting.delete(resolve);
    });
  }
}
