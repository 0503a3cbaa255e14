import type { CallbackKind } from './usage.ts';

/**
 * A service is known by a typed reference, never by a bare string; `version` is the version of the contract, not of its
 * provider. Every method of a contract returns a Promise, an AsyncIterable or an (Async)Disposable and takes
 * structured-cloneable values or callbacks, so that a provider can move to a worker or a process by one line in a SKU
 * without a change in its users.
 */
export interface ServiceRef<T> {
  readonly kind: 'service';
  readonly id: string;
  readonly version: string;
  /** Absent in a reference that stands for a service by its id alone. */
  readonly access?: ServiceAccess;
  /** The claim of a powerful one as people read it: `hears the microphone`. */
  readonly does?: string;
  /** Never set: carries the type. */
  readonly T?: T;
}

/**
 * `open`: any plugin may require the service. `powerful`: it acts on hardware, people or other plugins; a plugin from
 * outside of the Core needs a claim that the operator sees. `tree`: plugins of the Core alone (docs/adr/0176).
 */
export type ServiceAccess = 'open' | 'powerful' | 'tree';

/** Contracts of plugin-api name their `access`, and what a powerful one `does`; that of an author is open unless it says otherwise. */
export function serviceRef<T>(
  id: string,
  version: string,
  access: ServiceAccess = 'open',
  does?: string,
): ServiceRef<T> {
  return Object.freeze({ kind: 'service', id, version, access, ...(does && { does }) }) as ServiceRef<T>;
}

export type ServiceRefs = Readonly<Record<string, ServiceRef<unknown>>>;
export type Resolved<R extends ServiceRefs> = { readonly [K in keyof R]: R[K] extends ServiceRef<infer T> ? T : never };

/** The plugin that uses a service. */
export interface ServiceUser {
  readonly plugin: string;
  /** It came from outside of the Core: it speaks for itself alone, whatever caller it names. */
  readonly outside?: boolean;
  /** It was installed on the device and is no part of the product: it has names below its id alone (docs/adr/0178). */
  readonly installed?: boolean;
  /** The function of the user, its time accounted to it. */
  measured<A extends readonly unknown[], R>(kind: CallbackKind, fn: (...args: A) => R): (...args: A) => R;
  /** A callback of the user failed. */
  failed(kind: CallbackKind): void;
}

/**
 * A provider that needs to know its users has a method of this name, which the host, and nobody else, calls once for
 * each of them: it answers with the service as that plugin sees it.
 */
export const FOR_USER = Symbol.for('@device-core/for-user');
export interface ServesEachUser<T> {
  [FOR_USER](user: ServiceUser): T;
}
