export type Outcome<T> = { readonly kind: 'done'; readonly value: T } | { readonly kind: 'timeout' | 'aborted' };

/** Waits for `work` until `ms` have passed or the signal aborts, whichever comes first. What comes later is ignored. */
export async function within<T>(work: T | PromiseLike<T>, ms: number, signal?: AbortSignal): Promise<Outcome<T>> {
  const { promise, resolve } = Promise.withResolvers<Outcome<T>>();
  const timer = setTimeout(resolve, ms, { kind: 'timeout' });
  const abort = () => resolve({ kind: 'aborted' });
  signal?.addEventListener('abort', abort, { once: true });
  const done = Promise.resolve(work).then((value): Outcome<T> => ({ kind: 'done', value }));
  try {
    return signal?.aborted ? { kind: 'aborted' } : await Promise.race([done, promise]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
    done.catch(() => undefined); // a late failure belongs to nobody any more
  }
}
