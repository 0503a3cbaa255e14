/** Plugins, and the host that the kernel gives them. */
import type { Caller } from './caller.ts';
import type { CapabilityId } from './capabilities.ts';
import type { Clock } from './clock.ts';
import type { Configurable } from './configurable.ts';
import type { Bus } from './events.ts';
import type { HookCaller, HookId, Tap } from './hooks.ts';
import type { Logger } from './logger.ts';
import type { Scope } from './scope.ts';
import type { Resolved, ServiceRef, ServiceRefs } from './service-ref.ts';

export interface Capabilities {
  /**
   * Throws CAPABILITY_DENIED, which names the capability and the manifest line that would grant it, and is remembered
   * for `devicectl why`.
   */
  require(caller: Caller, capability: CapabilityId): void;
  /** The same question without a refusal. */
  holds(caller: Caller, capability: CapabilityId): boolean;
  /** Throws CAPABILITY_DENIED unless the caller holds the family or any scope of it. The refusal names `wanted`, by default the family. */
  requireAny(caller: Caller, family: CapabilityId, wanted?: string): void;
}

/** Host that setup() gets from the kernel. A closed list: a new power is a new service, never a new member here. */
export interface PluginHost<C = unknown> {
  readonly id: string;
  readonly scope: Scope;
  /** The time, and timers that end with the plugin. Nothing else in a plugin knows the time. */
  readonly clock: Clock;
  /**
   * Its validated section as it was at the start, defaults filled in; a change restarts the plugin, but for the members
   * that setup() returned a `configure` for.
   */
  readonly config: Readonly<C>;
  readonly log: Logger;
  readonly bus: Bus;
  readonly capabilities: Capabilities;
  /**
   * Provides the service to others after setup() has returned; it is revoked when the plugin stops. Throws
   * SERVICE_UNDECLARED, SERVICE_ALREADY_PROVIDED.
   */
  provide<T extends object>(ref: ServiceRef<T>, implementation: T): void;
  /** An optional service: runs each time it appears; its scope ends when the service goes. */
  when<T>(ref: ServiceRef<T>, use: (service: T, scope: Scope) => void | Promise<void>): void;
  /** Leaves with the plugin and is named after it. Lower stages run first. Throws HOOK_UNDECLARED. */
  tap<K extends HookId>(id: K, fn: Tap<K>, order?: { readonly stage?: number }): void;
  /** The owner's end; refused to others (HOOK_UNDECLARED). */
  hook<K extends HookId>(id: K): HookCaller<K>;
}

export interface PluginDefinition<R extends ServiceRefs = ServiceRefs, C = unknown> {
  /** Must agree with the manifest; checkManifest() compares them. */
  readonly requires?: R;
  /**
   * Returning means ready. Throwing releases the scope and marks the plugin failed. What it returns takes changes of
   * the configuration; only a plugin in the thread of the Core is asked, at the other levels each change is a restart.
   */
  setup(host: PluginHost<C>, services: Resolved<R>): void | Configurable<C> | Promise<void | Configurable<C>>;
}

// biome-ignore lint/complexity/noBannedTypes: the empty object is "requires nothing"
export function definePlugin<const R extends ServiceRefs = {}, C = unknown>(
  definition: PluginDefinition<R, C>,
): PluginDefinition<R, C> {
  return definition;
}

export const PLUGIN_STATES = ['waiting', 'starting', 'active', 'stopping', 'stopped', 'failed', 'quarantined'] as const;
export type PluginState = (typeof PLUGIN_STATES)[number];
