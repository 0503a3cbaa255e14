import {
  type Clock,
  type Configurable,
  CoreError,
  type EventEnvelope,
  type HookCaller,
  type HookId,
  type Isolation,
  maybe,
  type PluginDefinition,
  type PluginHost,
  type PluginManifest,
  type PluginUsage,
  type Priority,
  type Resolved,
  type ServiceRef,
  type ServiceRefs,
  type ServiceUser,
  type Tap,
} from '@device-core/plugin-api';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';
import { device } from '@device-core/plugin-api/services/device';
import type { CapabilityChecker } from '../capabilities.ts';
import { turns } from '../isolation/guest/turns.ts';
import { Kernel } from '../kernel.ts';
import { KERNEL_SERVICES, type PluginEntry } from '../resolved.ts';
import type { PluginScope } from '../scope.ts';
import { RecordingBus } from './bus.ts';
import { giver, giverEntry, testedEntry } from './entries.ts';
import type { GivenService } from './given.ts';
import { holderOf } from './grants.ts';
import { Border, levelOf } from './isolation.ts';
import { type LogLine, recordingLog } from './log.ts';
import { manifestToRun, resolveConfig } from './manifest.ts';
import { observed } from './observed.ts';
import { TEST_SKU, temporaryRoot } from './root.ts';

export interface TestHostOptions {
  /** The manifest, or the path of its YAML file. */
  readonly manifest: PluginManifest | string;
  /** Configuration section; the defaults of the manifest's schema are filled in. */
  readonly config?: object;
  /**
   * Services that are there before setup(), `[given(spi, { handles: async () => [] })]` or `[[spi, whole]]`, in the
   * versions of their references. Each has a separate plugin, `test-spi`, and is void once that is gone. They stand in
   * for the kernel's own, too.
   */
  readonly services?: readonly GivenService[];
  /** Capabilities by caller name, `{'app.com.example': ['bridges.spi:flash']}`. The operator holds everything. */
  readonly grants?: Readonly<Record<string, readonly string[]>>;
  /** Level of isolation, for a manifest in a file; the environment variable DEVICE_TEST_ISOLATION, if absent. */
  readonly isolation?: Isolation;
  /** The clock of the kernel and the plugin: `virtualClock()`, to be moved on by the test; the machine's, if absent. */
  readonly clock?: Clock;
}

/** One plugin, started, and the other side of all its services, events and hooks. */
export interface TestHost extends AsyncDisposable {
  /**
   * A service that the plugin provides, or that the test gave, as other plugins get it: void once its provider has
   * stopped. Throws SERVICE_MISSING.
   */
  service<T>(ref: ServiceRef<T>): T;
  /** The same as a plugin of this name gets it, where the provider tells its users apart (FOR_USER). */
  serviceFor<T>(ref: ServiceRef<T>, user: { readonly plugin: string; readonly outside?: boolean }): T;
  /** Every event so far, those of publish() included, without what the kernel itself tells of plugins. */
  readonly published: readonly EventEnvelope[];
  /** Log lines of the plugin, and every warning and error of the rest. */
  readonly logged: readonly LogLine[];
  readonly device: DeviceInfo;
  /** Level of isolation at which the plugin runs. */
  readonly isolation: Isolation;
  readonly grants: CapabilityChecker;
  /** Publishes as another source; it is `core` if absent. */
  publish(topic: string, payload: object, priority?: Priority, source?: string): EventEnvelope;
  /** The owner's end of a hook that the plugin taps. */
  hook<K extends HookId>(id: K): HookCaller<K>;
  /** Taps a hook that the plugin owns, under the name `test`. */
  tap<K extends HookId>(id: K, fn: Tap<K>, stage?: number): Disposable;
  /** A service comes, or another implementation in its place: resolves when the plugin's when() has run. */
  appear<T>(ref: ServiceRef<T>, implementation: T & object): Promise<void>;
  /** A service goes: resolves when the scope of when() is released. A plugin that requires it is stopped. */
  disappear<T>(ref: ServiceRef<T>): Promise<void>;
  /**
   * Another configuration, as a change on the device: taken by what setup() returned where only live members differ,
   * else the plugin restarts. Throws CHANGE_UNDONE.
   */
  configure(config: object): Promise<void>;
  /** Resolves when events, callbacks and what follows from them have arrived, wherever the plugin runs. */
  settle(): Promise<void>;
  /** Ends the scope; idempotent. Throws PLUGIN_STOP_TIMEOUT where a release hangs for the manifest's `stopTimeoutMs` (5,000). */
  stop(): Promise<void>;
  /** How long its callbacks kept the event loop. */
  usage(): PluginUsage;
  /** Labels of held resources; the list must be empty after stop(). */
  leaks(): readonly string[];
}

/**
 * Starts one plugin in a separate kernel with the code of the device, so it refuses as a Core does. kernel.ready is not
 * called, because the test has the owner's end of it. Throws the error of setup(), after its resources are released;
 * SERVICE_MISSING if the test lacks a service that the manifest requires; MANIFEST_INVALID; PARAMS_INVALID of the
 * configuration; CAPABILITY_UNKNOWN and CALLER_DENIED of the grants.
 */
export async function createTestHost<R extends ServiceRefs, C>(
  definition: PluginDefinition<R, C>,
  options: TestHostOptions,
): Promise<TestHost> {
  const manifest = manifestToRun(options.manifest);
  const file = typeof options.manifest === 'string' ? options.manifest : undefined;
  const { id } = manifest;
  const config = resolveConfig(manifest, options.config ?? {});
  const isolation = levelOf(manifest, file, options.isolation ?? (options.clock ? 'inline' : undefined));
  const services = new Map((options.services ?? []).map((given) => [given[0].id, given]));
  const root = temporaryRoot();
  const logged: LogLine[] = [];
  const told = services.get(device.id)?.[1] as { info(): Promise<DeviceInfo> } | undefined;
  const paths = (await told?.info())?.paths ?? root.paths;

  let scope: PluginScope | undefined;
  let thrown: { readonly error: unknown } | undefined;
  const noting = (plugin: PluginDefinition<R, C>): PluginDefinition => ({
    ...(plugin.requires && { requires: plugin.requires }),
    async setup(host, given) {
      scope = host.scope as PluginScope;
      try {
        return (await observed(plugin, host as PluginHost<C>, given as Resolved<R>)()) as void | Configurable;
      } catch (error) {
        thrown = { error };
        throw error;
      }
    },
  });
  const inline = isolation === 'inline' ? noting(definition) : undefined;
  let tested = testedEntry(manifest, { file, isolation, config, definition: inline });
  const givers = new Map<string, PluginEntry>();
  for (const [service, [ref, implementation]] of services) {
    if (!(service in KERNEL_SERVICES)) givers.set(service, giverEntry(ref as ServiceRef<object>, implementation));
  }
  const kernel = new Kernel({
    resolved: { sku: TEST_SKU, plugins: [...givers.values(), tested], problems: [] },
    paths,
    log: recordingLog(id, logged),
    services: Object.fromEntries([...services].map(([service, [, implementation]]) => [service, implementation])),
    bus: (busOptions) => new RecordingBus(busOptions),
    ...maybe({ clock: options.clock }),
  });
  const { lifecycle, parts } = kernel;
  const bus = parts.bus as RecordingBus;
  const border = new Border(paths);
  if (!inline) parts.hooks.tap('plugin.load', 'test', border.load, 0);

  const end = async () => {
    // Events that were published before are on their way already, as in a Core.
    if (!inline) await new Promise((resolve) => setImmediate(resolve));
    await kernel.stop();
    root[Symbol.dispose]();
    const failure = lifecycle.failure(id);
    if (failure?.code === 'PLUGIN_STOP_TIMEOUT') throw failure;
  };
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= end();
    return stopping;
  };
  try {
    for (const [name, capabilities] of Object.entries(options.grants ?? {}))
      await parts.capabilities.set(holderOf(name), capabilities);
    await kernel.start();
    for (const service of givers.keys()) throwFailure(kernel, giver(service));
    const { state } = await kernel.enable(id);
    if (state === 'waiting') throw missing(kernel, manifest);
    if (state !== 'active' && thrown) throw thrown.error;
    throwFailure(kernel, id);
  } catch (error) {
    await stop();
    throw error;
  }

  const all = () => [...givers.values(), tested];
  const change = async () => {
    await lifecycle.apply(all(), [], () => undefined);
    await parts.services.settled();
  };
  const disappear = async ({ id: service }: ServiceRef<unknown>) => {
    if (!givers.delete(service)) return;
    await lifecycle.disable(giver(service)); // on purpose: a change that only takes it away would be undone
    await change();
  };
  return {
    published: bus.published,
    logged,
    device: await kernel.service(device).info(),
    isolation,
    grants: parts.capabilities,
    service: (ref) => kernel.service(ref),
    serviceFor<T>(ref: ServiceRef<T>, user: { readonly plugin: string; readonly outside?: boolean }): T {
      kernel.service(ref); // throws where it is not there
      const measured: ServiceUser['measured'] = (_kind, fn) => fn;
      const whole: ServiceUser = { ...user, measured, failed: () => undefined };
      return parts.services.find(ref.id, `^${ref.version}`, whole) as T;
    },
    publish: (topic, payload, priority = 'normal', source = 'core') => bus.say({ topic, payload, priority, source }),
    hook: (hook) => parts.hooks.caller(hook),
    tap: (hook, fn, stage = 0) => ({ [Symbol.dispose]: parts.hooks.tap(hook, 'test', fn, stage) }),
    async appear(ref, implementation) {
      await disappear(ref);
      givers.set(ref.id, giverEntry(ref as ServiceRef<object>, implementation));
      await change();
    },
    disappear,
    async configure(config) {
      tested = { ...tested, config: resolveConfig(manifest, config) };
      await change();
    },
    settle: inline ? turns : () => border.settle(),
    stop,
    usage: () => parts.watch.usage.of(id).usage(),
    leaks: () => {
      const left = Object.keys(manifest.provides ?? {}).filter((one) => parts.services.provider(one)?.plugin === id);
      return [...(scope?.held ?? []), ...left.map((service) => `service ${service}`)];
    },
    [Symbol.asyncDispose]: stop,
  };
}

function throwFailure(kernel: Kernel, plugin: string): void {
  const failure = kernel.lifecycle.failure(plugin);
  if (failure) throw failure;
}

function missing({ parts: { services } }: Kernel, { id, requires = {} }: PluginManifest): CoreError {
  for (const [service, range] of Object.entries(requires)) {
    if (services.find(service, range)) continue;
    const other = services.provider(service);
    const reason = other ? `${other.plugin} provides ${other.version}` : 'the test did not give it';
    return new CoreError('SERVICE_MISSING', { service, range, reason });
  }
  return new CoreError('PLUGIN_START_FAILED', { plugin: id, reason: 'it waits' });
}
