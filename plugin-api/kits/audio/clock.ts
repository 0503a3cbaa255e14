import type { Scope } from '../../contract/scope.ts';

/**
 * Waits until a time of the monotonic clock. Who adds a fixed step to `at` each time does not drift, however late each
 * wait is. False: the signal or the scope ended it.
 */
export async function waitUntil(scope: Scope, at: number, signal?: AbortSignal): Promise<boolean> {
  const { clock } = scope;
  const gone = () => scope.signal.aborted || signal?.aborted === true;
  // A timer leaves out parts of a millisecond, twice: it would come early, and again for what is left, at 50 frames a second.
  for (let left = at - clock.monotonic(); left > 0.5 && !gone(); left = at - clock.monotonic()) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = () => resolve();
    using _timer = clock.after(Math.ceil(left) + 1, resolve);
    signal?.addEventListener('abort', stop, { once: true });
    scope.signal.addEventListener('abort', stop, { once: true });
    try {
      await promise;
    } finally {
      signal?.removeEventListener('abort', stop);
      scope.signal.removeEventListener('abort', stop);
    }
  }
  return !gone();
}
