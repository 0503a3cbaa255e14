import { type Caller, callerName } from '../../contract/caller.ts';
import { CoreError } from '../../contract/errors.ts';

/** Bounds what one caller has in flight. */
export class PerCaller {
  readonly #limit: number;
  readonly #what: string;
  readonly #retryAfterMs: number;
  readonly #inFlight = new Map<string, number>();

  /** Refusals since the start. */
  refused = 0;

  /** `what` for messages: `a request`. */
  constructor(limit: number, what = 'a request', retryAfterMs = 100) {
    this.#limit = limit;
    this.#what = what;
    this.#retryAfterMs = retryAfterMs;
  }

  /** Rejects with BUSY. A caller that is no app, plugin or operator goes by its name. */
  async run<T>(caller: Caller | string, work: () => Promise<T>): Promise<T> {
    const name = typeof caller === 'string' ? caller : callerName(caller);
    const count = this.#inFlight.get(name) ?? 0;
    if (count >= this.#limit) throw this.#busy(name);
    this.#inFlight.set(name, count + 1);
    try {
      return await work();
    } finally {
      const left = this.#inFlight.get(name)! - 1;
      if (left > 0) this.#inFlight.set(name, left);
      else this.#inFlight.delete(name);
    }
  }

  #busy(name: string): CoreError {
    this.refused++;
    const what = `${this.#what} of ${name}`;
    return new CoreError('BUSY', { what, limit: this.#limit, retryAfterMs: this.#retryAfterMs, executed: 'no' });
  }
}
