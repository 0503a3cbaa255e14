/** The complete list of extension points, each with one owner that creates and calls it. Adding one is an API change. */
import type {
  AsyncParallelHook,
  AsyncSeriesBailHook,
  AsyncSeriesHook,
  AsyncSeriesWaterfallHook,
  SyncWaterfallHook,
} from 'tapable';
import type { FunctionCall, FunctionRegistration } from '../services/functions.ts';
import type { HealthReport } from '../services/health.ts';
import type { SensitiveAct } from '../services/operations.ts';
import type { ReadyMessage } from './app-messages.ts';
import type { CallContext, Session } from './caller.ts';
import type { Configurable } from './configurable.ts';
import type { CoreError } from './errors.ts';
import type { Isolation, PluginBudget, PluginManifest } from './manifest.ts';
import type { ServiceRefs } from './service-ref.ts';
import type { UpdateTold } from './update-state.ts';

/** The code of a plugin that is to be loaded. */
export interface PluginSource {
  readonly manifest: PluginManifest;
  /** Absolute path of its module. */
  readonly main: string;
  readonly isolation: Isolation;
  /** That of the manifest and of the SKU, member by member. */
  readonly budget: PluginBudget;
  /** The worker that it shares with plugins of the same name, and the megabytes of their heap in all. */
  readonly share?: { readonly name: string; readonly heapMB: number } | undefined;
  /** It lies below plugins/ of this Core. */
  readonly tree: boolean;
  /**
   * To be called when it ends by itself outside of this thread, once for each start: what it provided is revoked, and
   * it is started again.
   */
  crashed(error: unknown): void;
  /** To be called from time to time with what it takes outside of this thread. */
  used(usage: { readonly cpuMs: number; readonly heapBytes: number }): void;
}

/** Answer to hook plugin.load: every PluginDefinition is one. */
export interface LoadedPlugin {
  readonly requires?: ServiceRefs;
  setup(host: never, services: never): void | Configurable<never> | Promise<void | Configurable<never>>;
}

export interface HookMap {
  /** kernel: before a plugin's code is imported; throw to refuse (signatures, policy). */
  'plugin.verify': AsyncSeriesHook<[manifest: PluginManifest, directory: string]>;
  /**
   * kernel: makes a plugin of its code; the first answer counts, and the Core's own loader is the last one asked.
   * Called in the Core's own thread only.
   */
  'plugin.load': AsyncSeriesBailHook<[source: PluginSource], LoadedPlugin>;
  /** kernel: the first settled state is reached. */
  'kernel.ready': AsyncParallelHook<[]>;
  /**
   * kernel: a finished line of the log, JSON without its end: what must not stand in it is taken out. It runs for each
   * line: be quick, never throw.
   */
  'log.line': SyncWaterfallHook<[line: string]>;
  /** system: add the health of a component. */
  'health.collect': AsyncParallelHook<[report: HealthReport]>;
  /** operations: rate limits, quotas, policy; the first refusal wins. */
  'operation.before': AsyncSeriesBailHook<[operation: string, call: CallContext], CoreError>;
  /** operations: has the person confirmed a page's act? The first refusal wins; without a tap, nothing can be confirmed. */
  'operation.confirm': AsyncSeriesBailHook<[act: SensitiveAct, call: CallContext], CoreError>;
  /** functions: policy before a function is registered; the first refusal wins, and refuses the whole specification. */
  'function.register': AsyncSeriesBailHook<[registration: FunctionRegistration], CoreError>;
  /** functions: policy before a call into an app; the first refusal wins. */
  'function.call': AsyncSeriesBailHook<[call: FunctionCall], CoreError>;
  /** rpc: what READY says to an app that has just connected. */
  'session.open': AsyncSeriesWaterfallHook<[ready: ReadyMessage, session: Session]>;
  /**
   * updater: is a new image good, at the end of its probation? The first answer says why not; a throw, and no answer in
   * time, is a no as well.
   */
  'update.judge': AsyncSeriesBailHook<[update: UpdateTold], CoreError>;
}

export type HookId = keyof HookMap;

/** Every hook, its tapable kind and its owner. The compiler refuses a forgotten one. */
export const HOOKS = {
  'plugin.verify': { kind: 'AsyncSeriesHook', args: ['manifest', 'directory'], owner: 'kernel' },
  'plugin.load': { kind: 'AsyncSeriesBailHook', args: ['source'], owner: 'kernel' },
  'kernel.ready': { kind: 'AsyncParallelHook', args: [], owner: 'kernel' },
  'log.line': { kind: 'SyncWaterfallHook', args: ['line'], owner: 'kernel' },
  'health.collect': { kind: 'AsyncParallelHook', args: ['report'], owner: 'system' },
  'operation.before': { kind: 'AsyncSeriesBailHook', args: ['operation', 'call'], owner: 'operations' },
  'operation.confirm': { kind: 'AsyncSeriesBailHook', args: ['act', 'call'], owner: 'operations' },
  'function.register': { kind: 'AsyncSeriesBailHook', args: ['registration'], owner: 'functions' },
  'function.call': { kind: 'AsyncSeriesBailHook', args: ['call'], owner: 'functions' },
  'session.open': { kind: 'AsyncSeriesWaterfallHook', args: ['ready', 'session'], owner: 'rpc' },
  'update.judge': { kind: 'AsyncSeriesBailHook', args: ['update'], owner: 'updater' },
} as const satisfies Record<
  HookId,
  { readonly kind: string; readonly args: readonly string[]; readonly owner: string }
>;

type TapArgs<H> = H extends { promise(...args: infer A): unknown } ? A : never;
type TapResult<H> = H extends { promise(...args: never[]): Promise<infer R> } ? R : never;
/** A function tapped into a hook. */
export type Tap<K extends HookId> = (
  ...args: TapArgs<HookMap[K]>
) => TapResult<HookMap[K]> | undefined | void | Promise<TapResult<HookMap[K]> | undefined | void>;

/** The owner's end of a hook. `promise` for the async kinds, `call` for the sync ones. */
export type HookCaller<K extends HookId> = Pick<
  HookMap[K],
  Extract<keyof HookMap[K], 'call' | 'promise' | 'isUsed'>
> & {
  /**
   * Hooks whose first answer counts: like promise(), but a known answer comes at once. Absent in a plugin in a worker
   * or process. Throws the errors of a tap.
   */
  first?(...args: TapArgs<HookMap[K]>): TapResult<HookMap[K]> | undefined | Promise<TapResult<HookMap[K]> | undefined>;
  /** Plugins whose tap was called and has not answered yet. */
  unanswered(): Promise<readonly string[]>;
};
