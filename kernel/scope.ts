import type { CallbackKind, Logger, Scope } from '@device-core/plugin-api';
import { CoreError } from '@device-core/plugin-api';
import { within } from './deadline.ts';
import { RemoteCall } from './isolation/remote/remote-call.ts';
import { type PluginMeter, UsageBoard } from './usage/usage.ts';

interface Entry {
  readonly label: string;
  readonly release?: () => unknown;
  readonly child?: PluginScope;
  /** Its release is asked for on the other side of a border: many of them are asked for at once, in their order. */
  readonly remote?: boolean;
}

/** What is behind a release that hangs still gets this long each. */
const GRACE_MS = 50;

/** Lifetime of one start of one plugin, or a part of it. */
export class PluginScope implements Scope, AsyncDisposable {
  readonly #plugin: string;
  readonly #log: Logger;
  readonly #onEnd: (() => void) | undefined;
  readonly #meter: PluginMeter;
  readonly #abort = new AbortController();
  readonly #entries = new Set<Entry>();
  #ending: Promise<readonly string[]> | undefined;

  /** What it runs in the name of the plugin is counted by `meter`. */
  constructor(plugin: string, log: Logger, onEnd?: () => void, meter = new UsageBoard().of(plugin)) {
    this.#plugin = plugin;
    this.#log = log;
    this.#onEnd = onEnd;
    this.#meter = meter;
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
    this.#add({ label, release, remote: resource instanceof RemoteCall });
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
    const tick = async () => {
      if (busy) return;
      busy = true;
      await this.attempt(label, fn, 'timer');
      busy = false;
    };
    const timer = setInterval(tick, ms);
    this.#add({ label, release: () => clearInterval(timer) });
  }

  timeout(label: string, ms: number, fn: () => void | Promise<void>): Disposable {
    const timer = setTimeout(() => {
      held[Symbol.dispose]();
      void this.attempt(label, fn, 'timer');
    }, ms);
    const held = this.hold(label, () => clearTimeout(timer));
    return held;
  }

  child(label: string): PluginScope {
    const child = new PluginScope(this.#plugin, this.#log, () => this.#entries.delete(entry), this.#meter);
    const entry: Entry = { label, child };
    this.#add(entry);
    return child;
  }

  /** Releases everything, newest first; resolves with the labels whose release hung. A second call waits for the first. */
  end(ms = 5_000): Promise<readonly string[]> {
    this.#ending ??= this.#release(performance.now() + ms);
    return this.#ending;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }

  async #release(deadline: number): Promise<readonly string[]> {
    const hung: string[] = [];
    this.#abort.abort(new CoreError('CANCELLED', { what: `plugin ${this.#plugin}`, reason: 'it was stopped' }));
    let asked: Promise<unknown>[] = [];
    for (const entry of [...this.#entries].reverse()) {
      if (!this.#entries.has(entry)) continue; // a part that ended by itself meanwhile
      const left = Math.max(deadline - performance.now(), GRACE_MS);
      if (entry.remote) {
        asked.push(this.#releaseOne(entry, left, hung));
        continue;
      }
      await Promise.all(asked);
      asked = [];
      await this.#releaseOne(entry, left, hung);
    }
    await Promise.all(asked);
    this.#onEnd?.();
    return hung;
  }

  async #releaseOne(entry: Entry, ms: number, hung: string[]): Promise<void> {
    if (entry.child) {
      for (const label of await entry.child.end(ms)) hung.push(`${entry.label} > ${label}`);
    } else if (entry.release) {
      const outcome = await within(this.attempt(entry.label, entry.release), ms);
      if (outcome.kind !== 'done') hung.push(entry.label);
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
