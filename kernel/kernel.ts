import { mkdirSync } from 'node:fs';
import { type Clock, CoreError, type PluginDefinition, type ServiceRef } from '@device-core/plugin-api';
import type { EventBus } from '@device-core/plugin-api/inside/services/event-bus';
import type { Launcher } from '@device-core/plugin-api/inside/services/launcher';
import type { LogControl } from '@device-core/plugin-api/inside/services/log-control';
import type { PluginManager, PluginStatus } from '@device-core/plugin-api/inside/services/plugin-manager';
import type { PluginUnits } from '@device-core/plugin-api/inside/services/plugin-units';
import type { Device, DeviceInfo } from '@device-core/plugin-api/services/device';
import { type BusOptions, EventBusCore } from './bus/event-bus.ts';
import { CapabilityChecker } from './capabilities.ts';
import { systemClock } from './clock.ts';
import { Composition, checkResolved, type Sets } from './composition.ts';
import { HookRegistry } from './hooks.ts';
import type { KernelParts } from './host.ts';
import type { KernelLog } from './kernel-log.ts';
import { Lifecycle } from './lifecycle.ts';
import { loadPlugin } from './loader.ts';
import { KERNEL_SERVICES, type Resolve, type Resolved } from './resolved.ts';
import { ServiceRegistry } from './services.ts';
import { usesOfGuests } from './usage/guests.ts';
import { Watch } from './usage/watch.ts';
import { addWallsHealth, systemLauncher } from './walls/index.ts';
import { hasGuests } from './walls/outside.ts';
import { ProcessBook } from './walls/processes.ts';

export { CORE_VERSION } from './composition.ts';

export interface KernelOptions {
  readonly resolved: Resolved;
  readonly paths: DeviceInfo['paths'];
  readonly log: KernelLog;
  /** Reads the SKU again, for apply(). */
  readonly resolve?: Resolve;
  /** The machine's, if absent. */
  readonly clock?: Clock;
  /** Owners of processes; a book that knows only the kernel's guests, if absent. */
  readonly processes?: ProcessBook;
  /** Control of the log at run time. Without it there is no service `log-control`, and plugins that require it wait. */
  readonly logs?: LogControl;
  /** Hooks of the test kit: stand-ins for services of the kernel, and a bus that reports each publication. */
  readonly services?: Readonly<Partial<Record<keyof typeof KERNEL_SERVICES, object>>>;
  readonly bus?: (options: BusOptions) => EventBusCore;
}

export interface KernelStatus {
  /** `failed` while an essential plugin is not active, `degraded` while another one that is enabled is not. */
  readonly state: 'ok' | 'degraded' | 'failed';
  readonly plugins: readonly PluginStatus[];
}

/** Hosts the plugins of one SKU: lifecycle, Event Bus and capability checker; everything else is a plugin. */
export class Kernel {
  /** Parts that plugins reach through their hosts; the test kit reads them, too. */
  readonly parts: KernelParts;
  readonly lifecycle: Lifecycle;
  readonly #composition: Composition;
  #stopping: Promise<void> | undefined;

  /** Puts another implementation in the place of a plugin; it and its dependents restart. */
  readonly swap = (id: string, definition: PluginDefinition) => this.lifecycle.swap(id, definition);
  readonly restart = (id: string) => this.lifecycle.restart(id);
  readonly disable = (id: string) => this.lifecycle.disable(id);
  readonly enable = (id: string) => this.lifecycle.enable(id);
  readonly release = (id: string) => this.lifecycle.release(id);
  readonly apply: PluginManager['apply'] = (options) => this.#composition.apply(options);
  readonly sets = (): Sets => this.#composition.sets;
  /** Takes an error that escaped; false when it is no plugin's, and the Core should end. */
  readonly crashed = (error: unknown) => this.lifecycle.crashed(error);

  /** Throws SKU_INVALID when the SKU has a problem that stops the Core. */
  constructor(options: KernelOptions) {
    const { resolved, paths, log, resolve, clock = systemClock, processes = new ProcessBook() } = options;
    checkResolved(resolved);
    for (const path of Object.values(paths)) {
      try {
        mkdirSync(path, { recursive: true });
      } catch (err) {
        log.error({ err }, `cannot make ${path}`); // a full or read-only disk keeps no device from starting
      }
    }
    const watch = new Watch(log);
    const hooks = new HookRegistry(watch.usage);
    const makeBus = options.bus ?? ((busOptions) => new EventBusCore(busOptions));
    const bus = makeBus({
      onError: (err) => log.error({ err }, 'an event handler failed'),
      onRow: (began) => watch.usage.row(began),
    });
    const capabilities = new CapabilityChecker((plugin) => watch.usage.find(plugin)?.uses);
    const launcher = (options.services?.launcher ?? systemLauncher) as Launcher;
    const units = () => this.parts.services.find('plugin-units', '^1.0.0') as PluginUnits | undefined;
    const loading = { paths, launcher, processes, units, threads: new Map() };
    hooks.last('plugin.load', (source) => loadPlugin(source, loading));
    hooks.last('health.collect', async (report) => {
      const outside = Object.keys((await units()?.list()) ?? {});
      const inside = this.sets().running.plugins.filter(({ id }) => !outside.includes(id));
      await addWallsHealth(report, launcher, hasGuests(inside));
      processes.tell(report);
    });
    this.parts = { services: new ServiceRegistry(), hooks, capabilities, bus, log, watch, paths, clock };
    this.lifecycle = new Lifecycle(resolved.plugins, this.parts);
    this.#composition = new Composition(resolved, paths, this.lifecycle, this.parts, resolve);
    const own: Record<keyof typeof KERNEL_SERVICES, object | undefined> = {
      device: { info: async () => this.#composition.info } satisfies Device,
      grants: capabilities,
      processes,
      'plugin-manager': this.#manager(),
      launcher,
      'log-control': options.logs,
      'event-bus': {
        publish: async (event) => bus.publish(event),
        retained: async (filters) => bus.retained(filters),
        stats: async () => bus.stats(),
      } satisfies EventBus,
    };
    const impls: Readonly<Record<string, object | undefined>> = { ...own, ...options.services };
    for (const [id, version] of Object.entries(KERNEL_SERVICES))
      if (impls[id]) this.parts.services.add('kernel', [{ id, version, impl: impls[id] }]);
  }

  #manager(): PluginManager {
    const { restart, enable, disable, release, apply } = this;
    const { usage, told } = this.parts.watch;
    const settings = async () => this.sets().running.settings ?? [];
    const uses = async () => usesOfGuests(this.sets().running.plugins, usage);
    return { list: this.lifecycle.list, restart, enable, disable, release, apply, settings, uses, ...told };
  }

  /** Resolves at the first settled state, even if plugins failed. */
  async start(): Promise<void> {
    await this.lifecycle.start();
    if (this.#stopping) return;
    await this.#composition.judge();
    this.parts.watch.start();
    const { hooks, log } = this.parts;
    const ready = hooks.caller('kernel.ready').promise();
    await ready.catch((err: unknown) => log.error({ err }, 'a plugin failed in hook kernel.ready'));
  }

  /** Stops every plugin, dependents first; idempotent. */
  stop(): Promise<void> {
    this.parts.watch.stop();
    this.#stopping ??= this.lifecycle.stop().then(() => this.parts.bus.close());
    return this.#stopping;
  }

  /** A service that is there now; its methods throw SERVICE_REVOKED once its provider has stopped. Throws SERVICE_MISSING. */
  service<T>(ref: ServiceRef<T>): T {
    const service = this.parts.services.find(ref.id, `^${ref.version}`);
    if (service) return service as T;
    const reason = 'no active plugin provides it';
    throw new CoreError('SERVICE_MISSING', { service: ref.id, range: ref.version, reason });
  }

  async status(): Promise<KernelStatus> {
    const plugins = await this.lifecycle.list();
    const down = plugins.filter(({ state }) => state !== 'active' && state !== 'stopped');
    const state = down.length === 0 ? 'ok' : down.some(({ essential }) => essential) ? 'failed' : 'degraded';
    return { state, plugins };
  }
}
