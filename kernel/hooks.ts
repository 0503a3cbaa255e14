import { CoreError, HOOKS, type HookCaller, type HookId, reasonOf, type Tap } from '@device-core/plugin-api';
import * as tapable from 'tapable';
import { type PluginMeter, UsageBoard } from './usage/usage.ts';

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
  /** Its failure, as the owner of the hook hears of it; undefined where the others go on without it. */
  readonly failed: (error: unknown) => CoreError | undefined;
  /** Calls that it has not answered yet. */
  waiting: number;
}

/** A hook that reports whether it has taps, at once and on each change. The border to an isolated owner needs it beside HookCaller. */
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
    const caller: Record<keyof HookCaller<'operation.before'> | 'call', AnyFunction> & WatchedHook = {
      call: (...args) => this.#hook.call(...args),
      promise: (...args) => (HOOKS[id].kind === 'AsyncParallelHook' ? this.#all(args) : this.#hook.promise(...args)),
      first: (...args) => this.#first(args, this.#taps),
      isUsed: () => this.#taps.length > 0,
      unanswered: async () => [
        ...new Set(this.#taps.filter(({ waiting }) => waiting > 0).map(({ meter }) => meter.plugin)),
      ],
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

  /** tapable ends a parallel hook at its first error and skips the taps behind it; here each tap runs, even after the error of another. */
  async #all(args: readonly unknown[]): Promise<void> {
    const failures: CoreError[] = [];
    await this.#hook.promise(...args, failures);
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, failures.map(reasonOf).join('; '));
  }

  /** As tapable's AsyncSeriesBailHook, but without a promise while all taps answer at once. */
  #first(args: readonly unknown[], taps: readonly Tapped[]): unknown {
    for (let at = 0; at < taps.length; at++) {
      const answer = ask(taps[at]!, args);
      if (answer instanceof Promise)
        return answer.then((late) => (late === undefined ? this.#first(args, taps.slice(at + 1)) : late));
      if (answer !== undefined) return answer;
    }
  }

  #set(taps: readonly Tapped[]): void {
    this.#taps = taps;
    this.#hook = this.#build();
    for (const watcher of this.#watchers) watcher(taps.length > 0);
  }

  #build(): AnyHook {
    const { kind, args } = HOOKS[this.#id];
    // biome-ignore lint/performance/noDynamicNamespaceImportAccess: nothing is bundled
    const Kind = tapable[kind] as unknown as new (args: readonly string[]) => AnyHook;
    const hook = new Kind(kind === 'AsyncParallelHook' ? [...args, 'failures'] : [...args]);
    for (const tapped of this.#taps) {
      const { plugin } = tapped.meter;
      if (kind === 'SyncWaterfallHook') hook.tap(plugin, (...values) => attempt(tapped, values));
      else if (kind === 'AsyncParallelHook') hook.tapAsync(plugin, (...values) => collect(tapped, values));
      else hook.tapAsync(plugin, (...values) => settle(tapped, values));
    }
    return hook;
  }
}

function attempt(tapped: Tapped, values: readonly unknown[]): unknown {
  try {
    return tapped.fn(...values);
  } catch (error) {
    const failure = tapped.failed(error);
    if (failure) throw failure;
  }
}

/** The answer of a tap; an immediate answer costs no promise. */
function ask(tapped: Tapped, values: readonly unknown[]): unknown {
  const answer = attempt(tapped, values);
  if (typeof (answer as PromiseLike<unknown> | undefined)?.then !== 'function') return answer;
  tapped.waiting++;
  return (async () => {
    try {
      return await answer;
    } catch (error) {
      throw tapped.failed(error);
    } finally {
      tapped.waiting--;
    }
  })();
}

/** Calls a tap with tapable's callback as the last value. */
function settle(tapped: Tapped, values: unknown[]): void {
  const done = values.pop() as Done;
  let answer: unknown;
  try {
    answer = ask(tapped, values);
  } catch (error) {
    done(error as CoreError);
    return;
  }
  if (answer instanceof Promise) answer.then((value) => done(null, value), done);
  else done(null, answer);
}

/** As settle(); what fails goes into the list that #all() gave to tapable behind the arguments of the hook. */
function collect(tapped: Tapped, values: unknown[]): void {
  const done = values.pop() as Done;
  const failures = values.pop() as unknown[];
  const end: Done = (error) => {
    if (error) failures.push(error);
    done(null);
  };
  settle(tapped, [...values, end]);
}

const compare = (a: string, b: string) => (a === b ? 0 : a < b ? -1 : 1);

export class HookRegistry {
  readonly #hooks = new Map<HookId, Hook<HookId>>();
  readonly #usage: UsageBoard;
  #order = 0;

  constructor(usage = new UsageBoard()) {
    this.#usage = usage;
  }

  tap(id: HookId, plugin: string, fn: AnyFunction, stage: number, usage = this.#usage): () => void {
    const meter = usage.of(plugin);
    const failed = (error: unknown): CoreError | undefined => {
      if (error instanceof CoreError && id !== 'log.line') return error;
      meter.failed('hook');
      if (id === 'log.line') return undefined; // no line is lost, and the other taps look at it
      return new CoreError('HOOK_FAILED', { plugin, hook: id, reason: reasonOf(error) }, { cause: error });
    };
    return this.#get(id).tap({
      meter,
      stage,
      fn: meter.measured('hook', fn),
      failed,
      order: this.#order++,
      waiting: 0,
    });
  }

  /** The kernel's tap, behind those of all plugins. Its time is charged to no plugin. */
  last<K extends HookId>(id: K, fn: Tap<K>): void {
    this.tap(id, 'kernel', fn, Number.POSITIVE_INFINITY, new UsageBoard());
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
