/**
 * The same items, until they end or the signal aborts. Who gives them is told then that nobody reads on, but not waited for: a microphone that is
 * muted may not answer for long. Nothing is left behind at a signal that lives for days.
 */
export async function* untilAborted<T>(
  items: AsyncIterable<T>,
  signal: AbortSignal,
): AsyncGenerator<T, void, undefined> {
  const source = items[Symbol.asyncIterator]();
  let over = false;
  let stop: () => void = () => undefined;
  const abort = () => stop();
  signal.addEventListener('abort', abort, { once: true });
  try {
    while (!signal.aborted) {
      const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<T> | undefined>();
      stop = () => resolve(undefined);
      source.next().then(resolve, reject);
      const item = await promise.catch((error: unknown) => {
        over = true;
        throw error;
      });
      if (item === undefined) return;
      if (item.done) {
        over = true;
        return;
      }
      yield item.value;
    }
  } finally {
    signal.removeEventListener('abort', abort);
    if (!over) void Promise.resolve(source.return?.()).catch(() => undefined); // nobody is left to be told how it ended
  }
}
