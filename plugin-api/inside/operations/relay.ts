/**
 * The AsyncIterable of an operation as its caller sees it: it ends when the call is ended from outside, and its errors
 * are of the table.
 */
import type { CoreError } from '../../index.ts';
import type { PendingCall } from './pending-call.ts';

export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

export function isThenable(value: object): value is PromiseLike<unknown> {
  return typeof (value as Partial<PromiseLike<unknown>>).then === 'function';
}

export function relay(
  source: AsyncIterable<unknown>,
  call: PendingCall,
  ended: Promise<never>,
  explain: (thrown: unknown) => CoreError,
): AsyncIterableIterator<unknown> {
  const iterator = source[Symbol.asyncIterator]();
  let over = false;
  let failure: { readonly reason: unknown } | undefined;
  /** Fails the item that is waited for. */
  let fail: ((reason: unknown) => void) | undefined;
  ended.catch((reason: unknown) => {
    failure = { reason };
    fail?.(reason);
  });
  /** Closes the handler's iterator without waiting for it: it may hang in next(), and its signal is aborted anyhow. */
  const close = (): void => {
    if (over) return;
    over = true;
    call.succeed(undefined);
    Promise.resolve(iterator.return?.()).catch((thrown: unknown) => {
      if (!call.signal.aborted) explain(thrown);
    });
  };
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    /** Not Promise.race: each race leaves a reaction on `ended`, and with it every item, for as long as the stream lasts. */
    next() {
      return new Promise((resolve, reject) => {
        if (over) {
          resolve({ done: true, value: undefined });
          return;
        }
        let settled = false;
        const failed = (thrown: unknown): void => {
          if (settled) return;
          settled = true;
          const error = explain(thrown);
          close();
          reject(error);
        };
        fail = failed;
        if (failure) {
          failed(failure.reason);
          return;
        }
        iterator.next().then((item) => {
          if (settled) return;
          settled = true;
          if (item.done) close();
          resolve(item);
        }, failed);
      });
    },
    async return() {
      close();
      return { done: true, value: undefined };
    },
  };
}
