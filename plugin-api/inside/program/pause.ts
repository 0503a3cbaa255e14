/**
 * The time between two looks of a program, which has no scope, and so no clock, of a plugin. Rejects with the reason of
 * the signal, at once when it aborts.
 */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const stop = () => reject(signal?.reason);
  const timer = setTimeout(resolve, ms);
  signal?.addEventListener('abort', stop, { once: true });
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
}
