/**
 * Lifetime of one start of one plugin, or of a part of it. Everything acquired goes in; all of it is released at the end, newest first, each
 * release awaited. There is no teardown function: the scope is the teardown.
 */
export interface Scope {
  /** Aborted when the end begins: pass it to every wait and request. */
  readonly signal: AbortSignal;
  /** Hand a resource to the scope. Throws SCOPE_CLOSED (and releases the resource) when the scope has ended. */
  use<T extends Disposable | AsyncDisposable>(label: string, resource: T): T;
  /** Run at the end, and awaited. */
  defer(label: string, release: () => void | Promise<void>): void;
  /** Every `ms` milliseconds until the scope ends, but not while `fn` is still busy; an error in `fn` is logged under the plugin's name. */
  interval(label: string, ms: number, fn: () => void | Promise<void>): void;
  /** Once, after `ms` milliseconds, unless disposed before. */
  timeout(label: string, ms: number, fn: () => void | Promise<void>): Disposable;
  /** A part that may end before the whole: per connection, per app, per stream. */
  child(label: string): Scope & AsyncDisposable;
}
