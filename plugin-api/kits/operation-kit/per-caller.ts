import { type Caller, callerName } from '../../contract/caller.ts';
import { CoreError } from '../../contract/errors.ts';

const RETRY_AFTER_MS = 100;

/** Bounds what one caller has in flight. */
export class PerCaller {
  readonly #limit: number;
  readonly #what: string;
  readonly #inFlight = new Map<string, number>();

  /** `what` for messages: `a request`. */
  constructor(limit: number, what = 'a request') {
    this.#limit = limit;
    this.#what = what;
  }

  /** Rejects with BUSY. */
  async run<T>(caller: Caller, work: () => Promise<T>): Promise<T> {
    const name = callerName(caller);
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
    const what = `${this.#what} of ${name}`;
    return new CoreError('BUSY', { what, limit: this.#limit, retryAfterMs: RETRY_AFTER_MS, executed: 'no' });
  }
}
