import type { Clock } from './clock.ts';

/**
 * Lifetime of one start of one plugin, or of a part of it. Everything acquired goes in; all of it is released at the
 * end, newest first, each release awaited. There is no teardown function: the scope is the teardown. Its timers run on
 * the clock of the host.
 */
export interface Scope {
  /** `host.clock`, for those who have the scope alone. */
  readonly clock: Clock;
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
  /**
   * Starts `work` and waits for it, `ms` milliseconds at most (Infinity: no limit). Resolves or rejects with what
   * becomes of it. Rejects with TIMEOUT (`label` and `ms`) at the limit, and when the scope ends or `signal` aborts:
   * with its reason where that is a CoreError, else with CANCELLED. In each of these cases the signal that `work` was
   * given is aborted, and what becomes of the work is not heard of any more. When the wait is over, no timer and no
   * listener of it is left.
   */
  within<T>(label: string, ms: number, work: (signal: AbortSignal) => T | PromiseLike<T>, options?: Within): Promise<T>;
  /**
   * The items of `source` until it ends, one of `ends` aborts or the scope ends; then the loop is over, without an
   * error. To be iterated once. There is one listener per end for the whole loop, none per item. When the loop is left,
   * `return()` of the source is called and awaited, a second at most. A source that was asked for an item just when the
   * loop ended is told, but not waited for: it may be asleep.
   */
  until<T>(source: AsyncIterable<T>, ...ends: readonly AbortSignal[]): AsyncIterableIterator<T, undefined>;
}

export interface Within {
  /** Ends the wait, beside the scope. */
  readonly signal?: AbortSignal | undefined;
}
