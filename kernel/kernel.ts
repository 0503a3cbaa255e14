import { mkdirSync } from 'node:fs';
import {
  API_VERSION,
  CoreError,
  type Device,
  type DeviceInfo,
  type EventBus,
  type PluginDefinition,
  type PluginStatus,
  type ServiceRef,
} from '@device-core/plugin-api';
import { HookRegistry } from '@device-core/plugin-api/host';
import type { Logger } from 'pino';
import { EventBusCore } from './bus.ts';
import { CapabilityChecker } from './capabilities.ts';
import { Lifecycle } from './lifecycle.ts';
import { KERNEL_SERVICES, type Resolved } from './resolved.ts';
import { ServiceRegistry } from './services.ts';

/** Version of the Core; equals the root package. */
export const CORE_VERSION = '0.1.0';

export interface KernelOptions {
  readonly resolved: Resolved;
  readonly paths: DeviceInfo['paths'];
  readonly log: Logger;
}

export interface KernelStatus {
  /** `failed` while an essential plugin is not active, `degraded` while another one that is enabled is not. */
  readonly state: 'ok' | 'degraded' | 'failed';
  readonly plugins: readonly PluginStatus[];
}

/** Hosts the plugins of one SKU: lifecycle, Event Bus and capability checker; everything else is a plugin. */
export class Kernel {
  readonly #services = new ServiceRegistry();
  readonly #hooks = new HookRegistry();
  readonly #capabilities = new CapabilityChecker();
  readonly #bus: EventBusCore;
  readonly #lifecycle: Lifecycle;
  readonly #log: Logger;
  #stopping: Promise<void> | undefined;

  /** Puts another implementation in the place of a plugin; it and its dependents restart. */
  readonly swap = (id: string, definition: PluginDefinition) => this.#lifecycle.swap(id, definition);
  readonly restart = (id: string) => this.#lifecycle.restart(id);
  readonly disable = (id: string) => this.#lifecycle.disable(id);
  readonly enable = (id: string) => this.#lifecycle.enable(id);
  /** Takes an error that escaped; false when it is no plugin's, and the Core should end. */
  readonly crashed = (error: unknown) => this.#lifecycle.crashed(error);

  /** Throws SKU_INVALID when the SKU has a problem that stops the Core. */
  constructor({ resolved, paths, log }: KernelOptions) {
    const { sku, plugins, problems } = resolved;
    const fatal = problems.find(({ stops }) => stops === 'core');
    if (!sku || fatal) {
      const file = fatal ? `${fatal.file}:${fatal.line}` : '';
      throw new CoreError('SKU_INVALID', { file, reason: fatal?.message ?? 'it cannot be read', problems });
    }
    for (const path of Object.values(paths)) mkdirSync(path, { recursive: true });
    this.#log = log;
    const publishing = this.#hooks.caller('event.publish');
    this.#bus = new EventBusCore({
      onPublish: (event) => (publishing.isUsed() ? publishing.call(event) : event),
      onError: (err) => log.error({ err }, 'an event handler failed'),
    });
    for (const { id, manifest } of plugins) {
      void this.#capabilities
        .set({ kind: 'plugin', id }, manifest.capabilities ?? [])
        .catch((err) => log.warn({ err }, id));
    }
    const bus = this.#bus;
    const parts = { services: this.#services, hooks: this.#hooks, bus, capabilities: this.#capabilities, log };
    this.#lifecycle = new Lifecycle(plugins, parts);
    const info: DeviceInfo = Object.freeze({
      service: sku.service ?? 'device',
      sku: { id: sku.id, title: sku.title, simulated: sku.simulated ?? false },
      core: { version: CORE_VERSION, api: API_VERSION },
      auth: sku.auth ?? 'token',
      paths,
      startedAt: Date.now(),
      grants: sku.grants ?? {},
    });
    const own: Record<keyof typeof KERNEL_SERVICES, object> = {
      device: { info: async () => info } satisfies Device,
      grants: this.#capabilities,
      'plugin-manager': this.#lifecycle,
      'event-bus': {
        publish: async (event) => bus.publish(event),
        retained: async (filters) => bus.retained(filters),
        stats: async () => bus.stats(),
      } satisfies EventBus,
    };
    const versions = Object.entries(KERNEL_SERVICES) as [keyof typeof own, string][];
    const services = versions.map(([id, version]) => ({ id, version, impl: own[id] }));
    this.#services.add('kernel', services);
  }

  /** Resolves at the first settled state, whatever failed. */
  async start(): Promise<void> {
    await this.#lifecycle.start();
    if (this.#stopping) return;
    try {
      await this.#hooks.caller('kernel.ready').promise();
    } catch (err) {
      this.#log.error({ err }, 'a plugin failed in hook kernel.ready');
    }
  }

  /** Stops every plugin, dependents first; idempotent. */
  stop(): Promise<void> {
    this.#stopping ??= this.#lifecycle.stop().then(() => this.#bus.close());
    return this.#stopping;
  }

  /** A service that is there now; its methods throw SERVICE_REVOKED once its provider has stopped. Throws SERVICE_MISSING. */
  service<T>(ref: ServiceRef<T>): T {
    const service = this.#services.find(ref.id, `^${ref.version}`);
    if (service) return service as T;
    const reason = 'no active plugin provides it';
    throw new CoreError('SERVICE_MISSING', { service: ref.id, range: ref.version, reason });
  }

  async status(): Promise<KernelStatus> {
    const plugins = await this.#lifecycle.list();
    const down = plugins.filter(({ state }) => state !== 'active' && state !== 'stopped');
    const state = down.length === 0 ? 'ok' : down.some(({ essential }) => essential) ? 'failed' : 'degraded';
    return { state, plugins };
  }
}
