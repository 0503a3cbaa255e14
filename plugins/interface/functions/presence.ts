/** Which apps have a session now, and when the next one of an app comes. */

import { CoreError, type Scope } from '@device-core/plugin-api';
import type { AppSockets, SessionInfo } from '@device-core/plugin-api/inside/services/app-sockets';

export class Presence {
  readonly #sessions = new Map<string, Set<string>>();
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #opened = new Map<string, number>();
  readonly #scope: Scope;
  #sockets: AppSockets | undefined;

  constructor(scope: Scope) {
    this.#scope = scope;
  }

  get sockets(): AppSockets | undefined {
    return this.#sockets;
  }

  async attach(sockets: AppSockets, scope: Scope): Promise<void> {
    this.#sockets = sockets;
    scope.defer('app sessions', () => {
      this.#sockets = undefined;
      this.#sessions.clear();
    });
    scope.use(
      'session listener',
      sockets.onSession((session) => (session.state === 'open' ? this.#open(session) : this.#close(session))),
    );
    for (const session of await sockets.sessions()) this.#open(session);
  }

  has(app: string): boolean {
    return this.#sessions.has(app);
  }

  /** How many sessions the app has opened so far: what a caller has seen, for next(). */
  opened(app: string): number {
    return this.#opened.get(app) ?? 0;
  }

  /**
   * Resolves once the app has opened more sessions than `seen`. Rejects with TIMEOUT after `ms`, with CANCELLED when the caller or this
   * plugin goes away.
   */
  next(app: string, seen: number, what: string, ms: number, signal?: AbortSignal): Promise<void> {
    if (this.opened(app) > seen) return Promise.resolve();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const ended = AbortSignal.any(signal ? [signal, this.#scope.signal] : [this.#scope.signal]);
    const cancelled = () => reject(new CoreError('CANCELLED', { what, reason: 'the caller no longer waits' }));
    if (ended.aborted) cancelled();
    else ended.addEventListener('abort', cancelled, { once: true });
    const timer = ended.aborted
      ? undefined
      : this.#scope.timeout(`wait for ${app}`, ms, () => reject(new CoreError('TIMEOUT', { what, ms })));
    const waiting = this.#waiting.get(app) ?? new Set();
    this.#waiting.set(app, waiting.add(resolve));
    return promise.finally(() => {
      timer?.[Symbol.dispose]();
      ended.removeEventListener('abort', cancelled);
      waiting.delete(resolve);
      if (waiting.size === 0 && this.#waiting.get(app) === waiting) this.#waiting.delete(app);
    });
  }

  #open({ app, id }: SessionInfo): void {
    const sessions = this.#sessions.get(app) ?? new Set<string>();
    if (sessions.has(id)) return;
    this.#sessions.set(app, sessions.add(id));
    this.#opened.set(app, this.opened(app) + 1);
    for (const wake of this.#waiting.get(app) ?? []) wake();
  }

  #close({ app, id }: SessionInfo): void {
    const sessions = this.#sessions.get(app);
    sessions?.delete(id);
    if (sessions?.size === 0) this.#sessions.delete(app);
  }
}
