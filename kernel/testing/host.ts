import type {
  Clock,
  Device,
  DeviceInfo,
  EventEnvelope,
  HookCaller,
  HookId,
  Isolation,
  Logger,
  PluginDefinition,
  PluginHost,
  PluginManifest,
  PluginUsage,
  Priority,
  Resolved,
  ServiceRef,
  ServiceRefs,
  Tap,
} from '@device-core/plugin-api';
import { CoreError, callerName, matchesTopic } from '@device-core/plugin-api';
import { deepFreeze } from '../freeze.ts';
import { HookRegistry } from '../hooks.ts';
import { PluginScope } from '../scope.ts';
import { UsageBoard, viewFor } from '../usage/usage.ts';
import { TestBus } from './bus.ts';
import type { GivenService } from './given.ts';
import { TestGrants } from './grants.ts';
import { atLevel } from './isolation.ts';
import { kernelServices, temporaryDevice } from './kernel-services.ts';
import { readManifest, resolveConfig } from './manifest.ts';
import { observed } from './observed.ts';

export interface TestHostOptions {
  /** The manifest, or the path of its YAML file. */
  readonly manifest: PluginManifest | string;
  /** Configuration section; the defaults of the manifest's schema are filled in. */
  readonly config?: object;
  /** Services that are there before setup(), `[given(spi, { handles: async () => [] })]` or `[[spi, whole]]`; they stand in for the kernel's own, too. */
  readonly services?: readonly GivenService[];
  /** Capabilities by caller name, `{'app.com.example': ['bridges.spi:flash']}`. The operator holds everything. */
  readonly grants?: Readonly<Record<string, readonly string[]>>;
  /** Where the plugin runs, if its manifest is a file; what the environment variable DEVICE_TEST_ISOLATION says, if absent. */
  readonly isolation?: Isolation;
  /** The plugin's clock: `virtualClock()`, to be moved on by the test; the machine's, if absent. */
  readonly clock?: Clock;
}

export interface LogLine {
  readonly level: keyof Logger;
  readonly fields: object;
  readonly message: string;
}

/** One plugin, started, and the other side of everything it was given. */
export interface TestHost extends AsyncDisposable {
  /** A service that the plugin provides, or that the test gave. Throws SERVICE_MISSING. */
  service<T>(ref: ServiceRef<T>): T;
  /** Every event so far, those of publish() included. */
  readonly published: readonly EventEnvelope[];
  readonly logged: readonly LogLine[];
  readonly device: DeviceInfo;
  /** Where the plugin runs. */
  readonly isolation: Isolation;
  readonly grants: TestGrants;
  /** Publishes as somebody else; the source is `core` if absent. */
  publish(topic: string, payload: object, priority?: Priority, source?: string): EventEnvelope;
  /** The owner's end of a hook that the plugin taps. */
  hook<K extends HookId>(id: K): HookCaller<K>;
  /** Taps a hook that the plugin owns, under the name `test`. */
  tap<K extends HookId>(id: K, fn: Tap<K>, stage?: number): Disposable;
  /** An optional service comes: resolves when the plugin's when() has run. */
  appear<T>(ref: ServiceRef<T>, implementation: T & object): Promise<void>;
  /** It goes: resolves when the scope of when() is released. */
  disappear<T>(ref: ServiceRef<T>): Promise<void>;
  /** Resolves when events, callbacks and what follows from them have arrived, wherever the plugin runs. */
  settle(): Promise<void>;
  /** Ends the scope; idempotent. Throws PLUGIN_STOP_TIMEOUT where a release hangs for the manifest's `stopTimeoutMs` (5,000). */
  stop(): Promise<void>;
  /** How long its callbacks kept the event loop. */
  usage(): PluginUsage;
  /** What is held now, by label; after stop() it must be empty. */
  leaks(): readonly string[];
}

interface Watcher {
  readonly id: string;
  readonly use: (service: never, scope: PluginScope) => unknown;
  scope?: PluginScope | undefined;
}

/**
 * Starts one plugin in a host of its own. The manifest rules as it does in the Core: undeclared services, taps, hooks and topics are refused.
 * Throws what setup() throws, after everything it acquired is released.
 */
export async function createTestHost<R extends ServiceRefs, C>(
  definition: PluginDefinition<R, C>,
  options: TestHostOptions,
): Promise<TestHost> {
  const manifest = readManifest(options.manifest);
  const file = typeof options.manifest === 'string' ? options.manifest : undefined;
  const id = manifest.id;
  const stopMs = manifest.stopTimeoutMs ?? 5_000;
  const logged: LogLine[] = [];
  const log = logger(logged);
  const failed = (label: string, error: unknown) => log.error({ label, err: error }, `plugin ${id} failed in ${label}`);
  const device = temporaryDevice();
  const bus = new TestBus((error) => failed('event handler', error));
  const usage = new UsageBoard();
  const meter = usage.of(id);
  const hooks = new HookRegistry(usage);
  const granted = new TestGrants({ [`plugin.${id}`]: manifest.capabilities ?? [], ...options.grants });
  const scope = new PluginScope(id, log, { meter, ...(options.clock ? { clock: options.clock } : {}) });
  const given = new Map<string, object>();
  const provided = new Map<string, object>();
  const watchers = new Set<Watcher>();
  const running = new Set<Promise<void>>();
  for (const [ref, service] of kernelServices(manifest, device, bus, granted, meter)) given.set(ref.id, service);
  for (const [ref, service] of options.services ?? []) given.set(ref.id, service);

  const declared = (ref: ServiceRef<unknown>, ...sections: (Readonly<Record<string, string>> | undefined)[]) => {
    if (!sections.some((section) => section?.[ref.id])) {
      throw new CoreError('SERVICE_UNDECLARED', { plugin: id, service: ref.id });
    }
  };
  const start = async (watcher: Watcher): Promise<void> => {
    const service = given.get(watcher.id);
    if (!service || watcher.scope || scope.signal.aborted) return;
    const child = scope.child(`when ${watcher.id}`);
    watcher.scope = child;
    await child.attempt(`when ${watcher.id}`, () => watcher.use(viewFor(service, meter) as never, child));
  };

  const host: PluginHost<C> = {
    id,
    scope,
    clock: scope.clock,
    config: deepFreeze(resolveConfig(manifest, options.config ?? {})) as C,
    log,
    capabilities: granted,
    bus: {
      publish(topic, payload, priority) {
        const allowed = manifest.publishes ?? [];
        if (!allowed.some((filter) => matchesTopic(filter, topic))) {
          const name = callerName({ kind: 'plugin', id });
          throw new CoreError('TOPIC_DENIED', { caller: name, topic, allowed: allowed.join(', ') || 'nothing' });
        }
        bus.publish({ topic, payload, priority, source: `plugin.${id}` });
      },
      subscribe(filter, fn, subscribeOptions) {
        const subscription = bus.subscribe(filter, meter.measured('event', fn), subscribeOptions);
        const held = scope.hold(`subscription ${filter}`, () => subscription[Symbol.dispose]());
        return { ...held, update: (filters) => subscription.update(filters) };
      },
    },
    provide(ref, implementation) {
      declared(ref, manifest.provides);
      if (provided.has(ref.id)) throw new CoreError('SERVICE_ALREADY_PROVIDED', { service: ref.id, plugin: id });
      provided.set(ref.id, implementation);
      scope.defer(`service ${ref.id}`, () => void provided.delete(ref.id));
    },
    when(ref, use) {
      declared(ref, manifest.optional);
      const watcher: Watcher = { id: ref.id, use: use as Watcher['use'] };
      watchers.add(watcher);
      scope.defer(`watch ${ref.id}`, () => void watchers.delete(watcher));
      const first = start(watcher).finally(() => running.delete(first));
      running.add(first);
    },
    tap(hook, fn, order) {
      if (!manifest.taps?.includes(hook)) throw new CoreError('HOOK_UNDECLARED', { plugin: id, hook });
      scope.defer(`tap ${hook}`, hooks.tap(hook, id, fn, order?.stage ?? 0));
    },
    hook(hook) {
      if (!manifest.hooks?.includes(hook)) throw new CoreError('HOOK_UNDECLARED', { plugin: id, hook });
      return hooks.caller(hook);
    },
  };

  const services: Record<string, object> = {};
  const { paths } = await (given.get('device') as Device).info();
  const placed = await atLevel(definition, {
    manifest,
    file,
    isolation: options.isolation ?? (options.clock ? 'inline' : undefined),
    paths,
    log,
  });
  const plugin = placed.definition;
  const stop = async () => {
    // What was published before is on its way already, as it would be in a Core.
    if (plugin !== definition) await new Promise((resolve) => setImmediate(resolve));
    const hung = await scope.end(stopMs);
    await device[Symbol.asyncDispose]();
    if (hung.length > 0) throw new CoreError('PLUGIN_STOP_TIMEOUT', { plugin: id, label: hung.join(', '), ms: stopMs });
  };
  try {
    for (const [name, ref] of Object.entries(plugin.requires ?? {})) {
      declared(ref, manifest.requires);
      services[name] = viewFor(given.get(ref.id) ?? missing(ref), meter);
    }
    const all = services as Resolved<R>;
    const setup = plugin === definition ? observed(plugin, host, all) : () => plugin.setup(host, all);
    await meter.measured('lifecycle', setup)();
    await Promise.all(running);
    for (const service of Object.keys(manifest.provides ?? {})) {
      if (provided.has(service)) continue;
      const reason = `it did not provide ${service}, which its manifest promises`;
      throw new CoreError('PLUGIN_START_FAILED', { plugin: id, reason });
    }
  } catch (error) {
    await stop();
    throw error;
  }

  return {
    published: bus.published,
    logged,
    device,
    isolation: placed.level,
    grants: granted,
    service: (ref) => (provided.get(ref.id) ?? given.get(ref.id) ?? missing(ref)) as never,
    publish: (topic, payload, priority, source = 'core') => bus.publish({ topic, payload, priority, source }),
    hook: (hook) => hooks.caller(hook),
    tap: (hook, fn, stage = 0) => ({ [Symbol.dispose]: hooks.tap(hook, 'test', fn, stage) }),
    async appear(ref, implementation) {
      given.set(ref.id, implementation);
      await Promise.all([...watchers].filter((one) => one.id === ref.id).map(start));
    },
    async disappear(ref) {
      given.delete(ref.id);
      for (const watcher of watchers) {
        if (watcher.id !== ref.id) continue;
        await watcher.scope?.end();
        watcher.scope = undefined;
      }
    },
    settle: placed.settle,
    stop,
    usage: () => meter.usage(),
    leaks: () => [...scope.held, ...[...provided.keys()].map((service) => `service ${service}`)],
    [Symbol.asyncDispose]: stop,
  };
}

function missing(ref: ServiceRef<unknown>): never {
  const details = { service: ref.id, range: ref.version, reason: 'the test did not give it' };
  throw new CoreError('SERVICE_MISSING', details);
}

function logger(lines: LogLine[]): Logger {
  const level = (name: keyof Logger) => (fields: object, message: string) =>
    void lines.push({ level: name, fields, message });
  return { debug: level('debug'), info: level('info'), warn: level('warn'), error: level('error') };
}
