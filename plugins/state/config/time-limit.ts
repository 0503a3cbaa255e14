/**
 * Work whose length an app decides: a pattern of its schema that backtracks without end, or a reference that doubles with each step, would hold up the
 * whole Core. Only what is called from a script of another context can be interrupted, hence node:vm.
 */
import { type Context, createContext, Script } from 'node:vm';

const SCRIPT = new Script('work()');

export class TimeLimit {
  readonly #ms: number;
  #context: Context | undefined;
  #spent = false;

  constructor(ms: number) {
    this.#ms = ms;
  }

  /** Throws an Error where the work takes too long, and from then on at once: the next attempt would cost the time again. */
  run<T>(work: () => T): T {
    if (this.#spent) throw new Error(`it takes longer than ${this.#ms} ms`);
    this.#context ??= createContext({});
    this.#context.work = work;
    try {
      return SCRIPT.runInContext(this.#context, { timeout: this.#ms });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
      this.#spent = true;
      throw new Error(`it takes longer than ${this.#ms} ms`, { cause: error });
    }
  }
}
