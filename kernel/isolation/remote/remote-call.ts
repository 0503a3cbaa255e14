import { REMOTE } from '../../remote-mark.ts';

const NONE: readonly number[] = [];
const nothing = () => undefined;

/**
 * The answer of a call to the other side, before its kind is known: a promise, an AsyncIterable and an
 * (Async)Disposable at once. The caller knows which of them the contract promises and uses that one.
 */
export class RemoteCall<T> extends Promise<T> implements AsyncIterable<unknown>, AsyncDisposable, Disposable {
  declare readonly [REMOTE]: true;
  /** True once a caller waits for it, and so learns of a failure. */
  observed = false;
  /** The answer. */
  result: unknown;
  settle: (value: unknown) => void = nothing;
  fail: (error: unknown) => void = nothing;
  /** Ends its present or future answer; absent if it was not sent. */
  end: ((call: RemoteCall<unknown>) => Promise<void>) | undefined;
  number = 0;
  method = '';
  /** Exports of its arguments. */
  held = NONE;
  began = Number.NaN;
  deadline = Number.NaN;
  /** Signal of the session or stream that bounds its life. */
  signal: AbortSignal | undefined;
  #disposed: Promise<void> | undefined;

  /** A collection that finds no object of a class throws the code away that V8 compiled for it. */
  static readonly kept = RemoteCall.make();

  static make(): RemoteCall<unknown> {
    const { promise, resolve, reject } = RemoteCall.withResolvers<unknown>();
    const call = promise as RemoteCall<unknown>;
    call.settle = resolve;
    call.fail = reject;
    return call;
  }

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
    this.#disposed ??= this.end?.(this) ?? Promise.resolve();
    return this.#disposed;
  }

  [Symbol.dispose](): void {
    void this[Symbol.asyncDispose]().catch(() => undefined); // the peer is gone, and with it what there was to dispose of
  }
}

// On the prototype, so that no call pays for it.
Object.defineProperty(RemoteCall.prototype, REMOTE, { value: true });
