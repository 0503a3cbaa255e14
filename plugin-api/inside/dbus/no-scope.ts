import type { Scope } from '../../contract/scope.ts';

/** The limits of a program that has no host and no scope: its waits are over when it is. */
export const NO_SCOPE: Pick<Scope, 'within' | 'use'> = {
  use: (_, resource) => resource,
  async within<T>(label: string, ms: number, work: (signal: AbortSignal) => T | PromiseLike<T>): Promise<T> {
    const over = Promise.withResolvers<never>();
    const timer = setTimeout(() => over.reject(new Error(`${label} timed out after ${ms} ms`)), ms);
    try {
      return await Promise.race([work(new AbortController().signal), over.promise]);
    } finally {
      clearTimeout(timer);
    }
  },
};
