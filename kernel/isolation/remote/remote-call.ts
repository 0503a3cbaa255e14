/**
 * The answer of a call to the other side, before anybody knows what it is: a promise, an AsyncIterable and an (Async)Disposable at once. The caller
 * knows which of them the contract promises and uses that one.
 */
export class RemoteCall<T> extends Promise<T> implements AsyncIterable<unknown>, AsyncDisposable, Disposable {
  /** Somebody waits for it, and learns of a failure. */
  observed = false;
  /** Ends the result, be it still on its way. Set by the peer. */
  dispose: (() => Promise<void>) | undefined;
  /** What was answered. */
  result: unknown;
  #disposed: Promise<void> | undefined;

  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  // biome-ignore lint/suspicious/noThenProperty: it is a promise
  override then<A = T, B = never>(
    fulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.observed = true;
    return super.then(fulfilled, rejected);
  }

  [Symbol.asyncIterator](): AsyncIterator<unknown> {
    let iterator: Promise<AsyncIterator<unknown>> | undefined;
    const begin = () => {
      iterator ??= this.then((source) => (source as unknown as AsyncIterable<unknown>)[Symbol.asyncIterator]());
      return iterator;
    };
    return {
      next: async () => (await begin()).next(),
      return: async (value) => (await (await begin()).return?.(value)) ?? { done: true, value },
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#disposed ??= this.dispose?.() ?? Promise.resolve();
    return this.#disposed;
  }

  [Symbol.dispose](): void {
    void this[Symbol.asyncDispose]().catch(() => undefined); // the peer is gone, and with it what there was to dispose of
  }
}
