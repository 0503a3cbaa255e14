/**
 * A service is known by a typed reference, never by a bare string; `version` is the version of the contract, not of its provider.
 * Every method of a contract returns a Promise, an AsyncIterable or an (Async)Disposable and takes structured-cloneable values or callbacks, so
 * that a provider can move to a worker or a process by one line in a SKU without a change in its users.
 */
export interface ServiceRef<T> {
  readonly kind: 'service';
  readonly id: string;
  readonly version: string;
  /** Never set: carries the type. */
  readonly T?: T;
}

export function serviceRef<T>(id: string, version: string): ServiceRef<T> {
  return Object.freeze({ kind: 'service', id, version }) as ServiceRef<T>;
}

export type ServiceRefs = Readonly<Record<string, ServiceRef<unknown>>>;
export type Resolved<R extends ServiceRefs> = { readonly [K in keyof R]: R[K] extends ServiceRef<infer T> ? T : never };
