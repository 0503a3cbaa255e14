/**
 * Work whose length outside input decides: a pattern of a schema that backtracks without end, or a reference that doubles with each step,
 * would hold up the whole Core. Only code called from a script of another context can be interrupted, hence node:vm.
 */
import { type Context, createContext, Script } from 'node:vm';
import { STRETCH } from '../kits/own-time.ts';

const SCRIPT = new Script('work()');

export class TimeLimit {
  readonly #ms: number;
  #context: Context | undefined;
  #spent = false;

  constructor(ms: number) {
    this.#ms = ms;
  }

  /**
   * `ms` count where the thread had the processor at least half of the time; else the work has six times as long, once more from its
   * beginning. Throws an Error where the work takes too long, and from then on at once: the next attempt would cost the time again.
   * Interrupted work runs no `finally`: a second run must not find its remains, so it makes its objects anew or has them dropped by `undo`.
   */
  run<T>(work: () => T, undo?: () => void): T {
    if (this.#spent) throw new Error(`it takes longer than ${this.#ms} ms`);
    this.#context ??= createContext({});
    this.#context.work = work;
    const began = process.threadCpuUsage();
    try {
      return SCRIPT.runInContext(this.#context, { timeout: this.#ms });
    } catch (error) {
      if (!isTimeout(error)) throw error;
      const { user, system } = process.threadCpuUsage(began);
      undo?.();
      if ((user + system) / 1_000 < this.#ms / 2) return this.#again(undo);
      return this.#end(error);
    }
  }

  #again<T>(undo?: () => void): T {
    try {
      return SCRIPT.runInContext(this.#context!, { timeout: STRETCH * this.#ms });
    } catch (error) {
      if (!isTimeout(error)) throw error;
      undo?.();
      return this.#end(error);
    }
  }

  #end(cause: unknown): never {
    this.#spent = true;
    throw new Error(`it takes longer than ${this.#ms} ms`, { cause });
  }
}

function isTimeout(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
}
