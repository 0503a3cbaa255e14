const KERNEL_SERVICES: ReadonlySet<string> = new Set(['device', 'grants', 'plugin-manager', 'event-bus']);

/** Is it one of those that createTestHost() brings along? */
export function isKernelService(id: string): boolean {
  return KERNEL_SERVICES.has(id);
}

/** A service that takes every call and answers nothing: undefined for a promise, no items for an AsyncIterable, something to dispose of. */
export function standIn(id: string): object {
  return new Proxy(Object.create(null) as object, {
    get: (_target, key) => (typeof key === 'symbol' || key === 'then' ? undefined : () => nothing(`${id}.${key}`)),
  });
}

function nothing(what: string): object {
  return {
    // biome-ignore lint/suspicious/noThenProperty: it is a promise of nothing, a disposable and an iterable at once
    then: (resolve?: (value: undefined) => unknown) => Promise.resolve(resolve?.(undefined)),
    async *[Symbol.asyncIterator]() {
      // No items.
    },
    [Symbol.dispose]: () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
    toString: () => what,
  };
}
