import {
  AsyncParallelHook,
  AsyncSeriesBailHook,
  AsyncSeriesHook,
  AsyncSeriesWaterfallHook,
  SyncWaterfallHook,
} from 'tapable';
import { CoreError, reasonOf } from '../errors.ts';
import { HOOKS, type HookCaller, type HookId, type HookMap } from '../hooks.ts';
import { type PluginMeter, UsageBoard } from './usage.ts';

// biome-ignore lint/suspicious/noExplicitAny: arguments differ by hook; the public types are in plugin-api
type AnyFunction = (...args: any[]) => any;
type Done = (error: Error | null, result?: unknown) => void;
interface AnyHook {
  tap(name: string, fn: AnyFunction): void;
  tapAsync(name: string, fn: AnyFunction): void;
  call: AnyFunction;
  promise: AnyFunction;
}
interface Tapped {
  readonly meter: PluginMeter;
  readonly stage: number;
  readonly order: number;
  readonly fn: AnyFunction;
}

const KINDS: Readonly<Record<(typeof HOOKS)[HookId]['kind'], new (args: readonly string[]) => unknown>> = {
  AsyncParallelHook: AsyncParallelHook as never,
  AsyncSeriesBailHook: AsyncSeriesBailHook as never,
  AsyncSeriesHook: AsyncSeriesHook as never,
  AsyncSeriesWaterfallHook: AsyncSeriesWaterfallHook as never,
  SyncWaterfallHook: SyncWaterfallHook as never,
};

/** What the border to an isolated owner asks beside HookCaller: to be told, at once and later, whether anybody taps. */
export interface WatchedHook {
  watch(listener: (used: boolean) => void): Disposable;
}

/** One hook: tapable has no way to remove a tap, so the list is kept here and the hook built anew when it changes. */
class Hook<K extends HookId> {
  readonly #id: K;
  #taps: readonly Tapped[] = [];
  #hook: AnyHook;
  readonly #watchers = new Set<(used: boolean) => void>();
  /** The owner's end; it stays the same object while taps come and go. */
  readonly caller: HookCaller<K>;

  constructor(id: K) {
    this.#id = id;
    this.#hook = this.#build();
    const caller: Pick<HookMap['event.publish'], 'call' | 'promise' | 'isUsed'> & WatchedHook = {
      call: (...args) => this.#hook.call(...args),
      promise: (...args) => this.#hook.promise(...args),
      isUsed: () => this.#taps.length > 0,
      watch: (listener) => {
        this.#watchers.add(listener);
        listener(this.#taps.length > 0);
        return { [Symbol.dispose]: () => void this.#watchers.delete(listener) };
      },
    };
    this.caller = Object.freeze(caller) as unknown as HookCaller<K>;
  }

  /** Taps of one stage run in the order of their plugins' ids: the order of start must not show. */
  tap(tapped: Tapped): () => void {
    this.#set(
      [...this.#taps, tapped].sort(
        (a, b) => a.stage - b.stage || compare(a.meter.plugin, b.meter.plugin) || a.order - b.order,
      ),
    );
    return () => this.#set(this.#taps.filter((one) => one !== tapped));
  }

  #set(taps: readonly Tapped[]): void {
    this.#taps = taps;
    this.#hook = this.#build();
    for (const watcher of this.#watchers) watcher(taps.length > 0);
  }

  #build(): AnyHook {
    const { kind, args } = HOOKS[this.#id];
    const hook = new KINDS[kind]([...args]) as AnyHook;
    for (const { meter, fn } of this.#taps) {
      const { plugin } = meter;
      const failed = (error: unknown): CoreError => {
        if (error instanceof CoreError) return error;
        meter.failed('hook');
        return new CoreError('HOOK_FAILED', { plugin, hook: this.#id, reason: reasonOf(error) }, { cause: error });
      };
      if (kind === 'SyncWaterfallHook') hook.tap(plugin, (...values) => attempt(() => fn(...values), failed));
      else hook.tapAsync(plugin, (...values) => settle(fn, values, failed));
    }
    return hook;
  }
}

function attempt(fn: () => unknown, failed: (error: unknown) => CoreError): unknown {
  try {
    return fn();
  } catch (error) {
    throw failed(error);
  }
}

/** Calls a tap with tapable's callback as the last value; a tap that answers at once costs no promise. */
function settle(fn: AnyFunction, values: unknown[], failed: (error: unknown) => CoreError): void {
  const done = values.pop() as Done;
  let result: unknown;
  try {
    result = fn(...values);
  } catch (error) {
    done(failed(error));
    return;
  }
  if (typeof (result as PromiseLike<unknown> | undefined)?.then !== 'function') done(null, result);
  else
    Promise.resolve(result).then(
      (value) => done(null, value),
      (error) => done(failed(error)),
    );
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

export class HookRegistry {
  readonly #hooks = new Map<HookId, Hook<HookId>>();
  readonly #usage: UsageBoard;
  #order = 0;

  constructor(usage = new UsageBoard()) {
    this.#usage = usage;
  }

  tap(id: HookId, plugin: string, fn: AnyFunction, stage: number): () => void {
    const meter = this.#usage.of(plugin);
    return this.#get(id).tap({ meter, stage, fn: meter.measured('hook', fn), order: this.#order++ });
  }

  caller<K extends HookId>(id: K): HookCaller<K> {
    return this.#get(id).caller as unknown as HookCaller<K>;
  }

  #get(id: HookId): Hook<HookId> {
    const hook = this.#hooks.get(id) ?? new Hook(id);
    this.#hooks.set(id, hook);
    return hook;
  }
}
