/** Contracts of host and guest of one plugin over their border. */
import type {
  Caller,
  CapabilityId,
  CoreError,
  EventEnvelope,
  HookId,
  Logger,
  PluginManifest,
  Priority,
  SubscribeOptions,
} from '@device-core/plugin-api';
import type { GuestUsage } from '../../usage/guest-watch.ts';

/** Everything a guest needs to start its plugin, as data. */
export interface GuestStart {
  readonly manifest: PluginManifest;
  readonly config: object;
  /** Lines of level debug are wanted. */
  readonly debug: boolean;
  /** Value of steadyMs() at 0 of the Core's monotonic clock, for its deadlines. */
  readonly steady: number;
}

/** A plugin that runs. The services passed to it live as long. */
export interface RunningGuest extends AsyncDisposable {
  /** Ends its scope; resolves with the labels whose release hung for `ms`. */
  stop(ms: number): Promise<readonly string[]>;
}

/** Calls from the host to the guest. */
export interface GuestRoot {
  start(start: GuestStart, services: Readonly<Record<string, object>>): Promise<RunningGuest>;
  /** Answered by HostRoot.alive(). Are lines of level debug wanted now? */
  ping(debug?: boolean): void;
  /** Resolves some turns of its event loop later. */
  turns(): Promise<void>;
  granted(caller: Caller, capabilities: readonly string[] | undefined): void;
  /** The bus took no event: publishing throws QUEUE_FULL until then. */
  congested(retryAfterMs: number): void;
}

/** Updates in time what a guest knows of a hook that it owns. */
export type HookUse = (used: boolean) => void;

/** Calls from the guest to the host. */
export interface HostRoot {
  log(level: keyof Logger, fields: object, message: string): void;
  publish(topic: string, payload: object, priority: Priority | undefined): void;
  subscribe(
    filter: string | readonly string[],
    deliver: (event: EventEnvelope) => PromiseLike<unknown>,
    options: SubscribeOptions,
  ): Disposable & { update(filter: string | readonly string[]): void };
  provide(service: string, implementation: object): Disposable;
  when(service: string, appear: (service: object) => Promise<AsyncDisposable>): Disposable;
  tap(hook: HookId, fn: (...args: unknown[]) => unknown, stage: number | undefined): Disposable;
  hook(
    hook: HookId,
    use: HookUse,
  ): Disposable & { promise(...args: unknown[]): Promise<unknown>; unanswered(): Promise<readonly string[]> };
  /** A refusal of the guest's mirror, to be remembered. */
  refused(kind: 'require' | 'requireAny', caller: Caller, capability: CapabilityId, wanted?: string): void;
  alive(usage: GuestUsage): void;
  /** `sure`: it is this plugin's own error, and not that of another one of its worker. */
  crashed(error: CoreError | Error, sure: boolean): void;
}
