import { CoreError, type Scope } from '@device-core/plugin-api';

/** The work, or TIMEOUT after `ms`, or CANCELLED with the signal; the work itself goes on, and its end is not heard of here any more. */
export async function within<T>(
  scope: Scope,
  what: string,
  ms: number,
  signal: AbortSignal,
  work: Promise<T>,
): Promise<T> {
  const { promise: over, reject } = Promise.withResolvers<never>();
  const stop = () => reject(new CoreError('CANCELLED', { what, reason: 'nobody waits for it' }));
  using _limit = scope.timeout(what, Math.max(0, ms), () => reject(new CoreError('TIMEOUT', { what, ms })));
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    return await Promise.race([work, over]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
