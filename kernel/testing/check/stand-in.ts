import { logControl } from '@device-core/plugin-api/inside/services/log-control';
import { KERNEL_SERVICES } from '../../resolved.ts';

/** Is it one of those that createTestHost() brings along? It has no log to steer. */
export function isKernelService(id: string): boolean {
  return id in KERNEL_SERVICES && id !== logControl.id;
}

/**
 * A service that takes every call and answers nothing: undefined for a promise, no items for an AsyncIterable,
 * something to dispose of. Only a service with named methods can cross the border of a worker or process; without names
 * it has every method there could be.
 */
export function standIn(methods?: readonly string[]): object {
  if (methods) return Object.fromEntries(methods.map((name) => [name, () => new Nothing()]));
  return new Proxy(Object.create(null) as object, {
    get: (_target, key) => (typeof key === 'symbol' || key === 'then' ? undefined : () => new Nothing()),
  });
}

class Nothing implements Disposable, AsyncDisposable {
  // biome-ignore lint/suspicious/noThenProperty: a caller that awaits it gets undefined
  then(resolve: (value: undefined) => unknown): void {
    resolve(undefined);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<never> {
    // No items.
  }

  [Symbol.dispose](): void {
    // Nothing was acquired.
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Nothing was acquired.
  }
}
