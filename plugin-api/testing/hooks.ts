import {
  AsyncParallelHook,
  AsyncSeriesBailHook,
  AsyncSeriesHook,
  AsyncSeriesWaterfallHook,
  SyncWaterfallHook,
} from 'tapable';
import { CoreError, reasonOf } from '../errors.ts';
import { HOOKS, type HookCaller, type HookId } from '../hooks.ts';

const KINDS = {
  AsyncParallelHook,
  AsyncSeriesBailHook,
  AsyncSeriesHook,
  AsyncSeriesWaterfallHook,
  SyncWaterfallHook,
};

type AnyFunction = (...args: never[]) => unknown;
interface AnyHook {
  tap(options: { name: string; stage: number }, fn: AnyFunction): void;
  tapPromise(options: { name: string; stage: number }, fn: AnyFunction): void;
  call(...args: unknown[]): unknown;
  promise(...args: unknown[]): Promise<unknown>;
}
interface TapEntry {
  readonly plugin: string;
  readonly stage: number;
  readonly fn: AnyFunction;
}

/** Tapable hooks whose taps can leave again, with errors that name the plugin that tapped. */
export class TestHooks {
  readonly #taps = new Map<HookId, TapEntry[]>();

  tap(id: HookId, plugin: string, fn: AnyFunction, stage = 0): Disposable {
    const list = this.#taps.get(id) ?? [];
    const entry: TapEntry = { plugin, stage, fn };
    this.#taps.set(id, [...list, entry]);
    return {
      [Symbol.dispose]: () =>
        void this.#taps.set(
          id,
          (this.#taps.get(id) ?? []).filter((one) => one !== entry),
        ),
    };
  }

  taps(id: HookId): readonly string[] {
    return (this.#taps.get(id) ?? []).map(({ plugin }) => plugin);
  }

  caller<K extends HookId>(id: K): HookCaller<K> {
    const caller = {
      call: (...args: unknown[]) => this.#build(id).call(...args),
      promise: (...args: unknown[]) => this.#build(id).promise(...args),
      isUsed: () => this.taps(id).length > 0,
    };
    return caller as unknown as HookCaller<K>;
  }

  #build(id: HookId): AnyHook {
    const { kind, args } = HOOKS[id];
    const hook = new (KINDS[kind] as unknown as new (args: readonly string[]) => AnyHook)([...args]);
    for (const { plugin, stage, fn } of this.#taps.get(id) ?? []) {
      const failed = (error: unknown) =>
        error instanceof CoreError
          ? error
          : new CoreError('HOOK_FAILED', { plugin, hook: id, reason: reasonOf(error) }, { cause: error });
      const sync = (...values: never[]) => {
        try {
          return fn(...values);
        } catch (error) {
          throw failed(error);
        }
      };
      const async = async (...values: never[]) => {
        try {
          return await fn(...values);
        } catch (error) {
          throw failed(error);
        }
      };
      if (kind.startsWith('Sync')) hook.tap({ name: plugin, stage }, sync);
      else hook.tapPromise({ name: plugin, stage }, async);
    }
    return hook;
  }
}
