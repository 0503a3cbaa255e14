import type { CallbackKind, Clock, Logger, Scope, Within } from '@device-core/plugin-api';
import { CoreError } from '@device-core/plugin-api';
import { PluginClock, systemClock } from './clock.ts';
import { limited, outcome } from './deadline.ts';
import { isRemote } from './remote-mark.ts';
import { UntilIterator } from './until.ts';
import { type PluginMeter, UsageBoard } from './usage/usage.ts';

interface Entry {
  readonly label: string;
  readonly release?: () => unknown;
  readonly child?: PluginScope;
  /** Its release is asked for on the other side of a border: many of them are asked for at once, in their order. */
  readonly remote?: boolean;
}

/** Time for each release behind one that hangs. */
const GRACE_MS = 50;

export interface ScopeOptions {
  /** Meter of the callbacks that run in the name of the plugin. */
  readonly meter?: PluginMeter;
  /** The machine's clock, if absent. */
  readonly clock?: Clock;
}

/** Lifetime of one start of one plugin, or a part of it. */
export class PluginScope implements Scope, AsyncDisposable {
  /** Clock of the whole plugin: its pending timers end last. */
  readonly clock: Clock;
  readonly #plugin: string;
  readonly #log: Logger;
  readonly #meter: PluginMeter;
  readonly #parent: { readonly clock: Clock; onEnd(): void } | undefined;
  readonly #abort = new AbortController();
  readonly #entries = new Set<Entry>();
  #ending: Promise<readonly string[]> | undefined;

  constructor(
    plugin: string,
    log: Logger,
    options: ScopeOptions = {},
    parent?: { readonly clock: Clock; onEnd(): void },
  ) {
    this.#plugin = plugin;
    this.#log = log;
    this.#meter = options.meter ?? new UsageBoard().of(plugin);
    this.#parent = parent;
    this.clock = parent?.clock ?? new PluginClock(options.clock ?? systemClock, plugin);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Labels of what it holds, oldest first. */
  get held(): readonly string[] {
    return [...this.#entries].map(({ label }) => label);
  }

  use<T extends Disposable | AsyncDisposable>(label: string, resource: T): T {
    const release = () =>
      Symbol.asyncDispose in resource ? resource[Symbol.asyncDispose]() : resource[Symbol.dispose]();
    this.#add({ label, release, remote: isRemote(resource) });
    return resource;
  }

  defer(label: string, release: () => void | Promise<void>): void {
    this.#add({ label, release });
  }

  /** Like defer(), but may be released before the end: the kernel's own primitive for what plugins dispose of themselves. */
  hold(label: string, release: () => void): Disposable {
    const entry = { label, release };
    this.#add(entry);
    return { [Symbol.dispose]: () => void (this.#entries.delete(entry) && release()) };
  }

  interval(label: string, ms: number, fn: () => void | Promise<void>): void {
    let busy = false;
    const step = Math.max(1, ms);
    let due = this.clock.monotonic();
    const tick = () => {
      arm();
      if (busy) return;
      busy = true;
      void this.attempt(label, fn, 'timer').then(() => {
        busy = false;
      });
    };
    const arm = () => {
      due = Math.max(due, this.clock.monotonic() - step) + step; // what was missed is left out
      timer = this.clock.at(due, tick);
    };
    let timer: Disposable;
    arm();
    this.#add({ label, release: () => timer[Symbol.dispose]() });
  }

  timeout(label: string, ms: number, fn: () => void | Promise<void>): Disposable {
    const timer = this.clock.after(ms, () => {
      held[Symbol.dispose]();
      void this.attempt(label, fn, 'timer');
    });
    const held = this.hold(label, () => timer[Symbol.dispose]());
    return held;
  }

  within<T>(
    label: string,
    ms: number,
    work: (signal: AbortSignal) => T | PromiseLike<T>,
    { signal }: Within = {},
  ): Promise<T> {
    const ends = signal ? [this.signal, signal] : [this.signal];
    return limited(this.clock, label, ms, ends, work);
  }

  until<T>(source: AsyncIterable<T>, ...ends: readonly AbortSignal[]): AsyncIterableIterator<T, undefined> {
    const plugin = this.#plugin;
    return new UntilIterator(source, {
      clock: this.clock,
      ends: [this.signal, ...ends],
      onHang: (ms) => this.#log.warn({ ms }, `plugin ${plugin} left a loop, and its source did not end`),
      onFailure: (err) => this.#log.debug({ err }, `plugin ${plugin} left a loop, and its source failed at the end`),
    });
  }

  child(label: string): PluginScope {
    const parent = { clock: this.clock, onEnd: () => void this.#entries.delete(entry) };
    const child = new PluginScope(this.#plugin, this.#log, { meter: this.#meter }, parent);
    const entry: Entry = { label, child };
    this.#add(entry);
    return child;
  }

  /** Releases everything, newest first; resolves with the labels whose release hung. A second call waits for the first. */
  end(ms = 5_000): Promise<readonly string[]> {
    this.#ending ??= this.#release(this.#ownTime + ms);
    return this.#ending;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }

  /** Time goes on for a release while it could run. */
  get #ownTime(): number {
    return this.clock.monotonic() - this.clock.taken();
  }

  async #release(deadline: number): Promise<readonly string[]> {
    const hung: string[] = [];
    this.#abort.abort(new CoreError('CANCELLED', { what: `plugin ${this.#plugin}`, reason: 'it was stopped' }));
    let asked: Promise<unknown>[] = [];
    for (const entry of [...this.#entries].reverse()) {
      if (!this.#entries.has(entry)) continue; // a part that ended by itself meanwhile
      const left = Math.max(deadline - this.#ownTime, GRACE_MS);
      if (entry.remote) {
        asked.push(this.#releaseOne(entry, left, hung));
        continue;
      }
      await Promise.all(asked);
      asked = [];
      await this.#releaseOne(entry, left, hung);
    }
    await Promise.all(asked);
    if (this.#parent) this.#parent.onEnd();
    else (this.clock as PluginClock)[Symbol.dispose]();
    return hung;
  }

  async #releaseOne(entry: Entry, ms: number, hung: string[]): Promise<void> {
    if (entry.child) {
      for (const label of await entry.child.end(ms)) hung.push(`${entry.label} > ${label}`);
    } else if (entry.release) {
      const ended = await outcome(this.clock, this.attempt(entry.label, entry.release), ms);
      if (ended.kind !== 'done') hung.push(entry.label);
    }
    this.#entries.delete(entry);
  }

  /** Runs something in the name of the plugin; a failure is logged, once. */
  async attempt(label: string, fn: () => unknown, kind: CallbackKind = 'lifecycle'): Promise<void> {
    try {
      await this.#meter.measured(kind, fn)();
    } catch (err) {
      this.#meter.failed(kind);
      this.#log.error({ err, label }, `plugin ${this.#plugin} failed in ${label}`);
    }
  }

  #add(entry: Entry): void {
    if (!this.#ending) {
      this.#entries.add(entry);
      return;
    }
    if (entry.release) void this.attempt(entry.label, entry.release);
    throw new CoreError('SCOPE_CLOSED', { plugin: this.#plugin, label: entry.label });
  }
}
