import { afterOwnTime, type Spent, spentText } from '@device-core/plugin-api';
import type { GuestEnd } from '@device-core/plugin-api/inside/services/app-supervisor';
import type { AppManifest } from '@device-core/plugin-api/services/apps';
import type { AppContext } from './app-context.ts';
import type { AppRun } from './app-run.ts';
import { Liveness, processorWait } from './liveness.ts';
import { pingApp, pingLimits } from './ping.ts';
import type { Turns } from './turns.ts';

const START_MS = 10_000;
const STANDS_MS = 1_000;

export type StartOutcome = 'ready' | 'cancelled' | { readonly late: Spent } | GuestEnd;

export interface AppSessionsOptions {
  readonly manifest: AppManifest;
  readonly context: AppContext;
  readonly turns: Turns;
  readonly process: () => AppRun | undefined;
  readonly isRunning: () => boolean;
  readonly crashed: (reason: string) => Promise<void>;
}

/** Sessions of an app with the Core. The first one makes it ready; a run without one, or that answers no ping, is ended. */
export class AppSessions {
  /** False for an app that says in its manifest that it opens none. */
  readonly expected: boolean;
  readonly startLimitMs: number;
  readonly #options: AppSessionsOptions;
  readonly #open = new Set<string>();
  /** Present while a start waits for the first session. */
  #opened: (() => void) | undefined;
  #lost: Disposable | undefined;
  #liveness: Liveness | undefined;

  constructor(options: AppSessionsOptions) {
    const { health, lifecycle } = options.manifest;
    this.#options = options;
    this.expected = health?.kind !== 'none';
    this.startLimitMs = lifecycle?.startTimeoutMs ?? START_MS;
  }

  get any(): boolean {
    return this.#open.size > 0;
  }

  /** Pings in a row that the app has not answered. */
  get unanswered(): number {
    return this.#liveness?.misses ?? 0;
  }

  opened(session: string): void {
    this.#open.add(session);
    this.#lost?.[Symbol.dispose]();
    this.#lost = undefined;
    this.#opened?.();
  }

  closed(session: string): void {
    this.#open.delete(session);
    if (!this.any && this.#options.isRunning()) this.#awaitNext();
  }

  clear(): void {
    this.#open.clear();
  }

  /** Resolves when a run is ready, ends, takes too long or is cancelled. */
  first(process: AppRun): Promise<StartOutcome> {
    const { signal } = this.#options.turns;
    const { promise, resolve } = Promise.withResolvers<StartOutcome>();
    void process.ended.then(resolve);
    if (signal.aborted) return Promise.resolve('cancelled');
    const cancelled = () => resolve('cancelled');
    signal.addEventListener('abort', cancelled, { once: true });
    this.#opened = () => resolve('ready');
    if (!this.expected || this.any) resolve('ready');
    const timer = this.#ownTime(this.startLimitMs, (late) => resolve({ late }));
    return promise.finally(() => {
      timer[Symbol.dispose]();
      signal.removeEventListener('abort', cancelled);
      this.#opened = undefined;
    });
  }

  /** Resolves when a run that opens no session has ended or has run for a moment. */
  async stands(process: AppRun): Promise<void> {
    if (this.expected) return;
    const { promise, resolve } = Promise.withResolvers<unknown>();
    using _ = this.#ownTime(STANDS_MS, resolve);
    void process.ended.then(resolve);
    await promise;
  }

  /** Pings a run that is ready, and expects a session of it, until `unwatch`. */
  watch(process: AppRun): void {
    if (!this.expected) return;
    const { manifest, context, turns, isRunning, crashed } = this.#options;
    const limits = pingLimits(context.config.ping, manifest.health?.liveness);
    this.#liveness = new Liveness({
      label: manifest.id,
      scope: context.scope,
      limits,
      pid: process.leader,
      ask: (signal) => pingApp(context.appSockets, manifest.id, [...this.#open], limits, signal),
      hung: (reason) =>
        void turns.takeQuietly(async () => {
          if (this.#options.process() === process && isRunning()) await crashed(reason);
        }),
    });
    if (!this.any) this.#awaitNext();
  }

  unwatch(): void {
    for (const one of [this.#lost, this.#liveness]) one?.[Symbol.dispose]();
    [this.#lost, this.#liveness] = [undefined, undefined];
  }

  /** A run without a session has as long as a start. */
  #awaitNext(): void {
    const { context, turns, crashed } = this.#options;
    if (!this.expected || context.scope.signal.aborted) return;
    const limit = this.startLimitMs;
    const process = this.#options.process();
    this.#lost?.[Symbol.dispose]();
    this.#lost = this.#ownTime(limit, (spent) =>
      turns.takeQuietly(async () => {
        if (this.#options.process() === process && !this.any)
          await crashed(`it has had no session for ${spentText(limit, spent)}`);
      }),
    );
  }

  /** A limit of the app's own time: neither a busy event loop nor the wait for a processor counts (decisions D12a). */
  #ownTime(ms: number, over: (spent: Spent) => void): Disposable {
    const { clock } = this.#options.context.scope;
    const pid = this.#options.process()?.leader ?? 0;
    return afterOwnTime(clock, ms, over, [() => clock.taken(), processorWait(pid)]);
  }
}
