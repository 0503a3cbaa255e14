import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PluginManifest, ServiceRef } from '@device-core/plugin-api';
import {
  API_VERSION,
  CoreError,
  type DeviceInfo,
  device,
  eventBus,
  grants,
  type PluginManager,
  type PluginStatus,
  pluginManager,
} from '@device-core/plugin-api';
import type { PluginMeter } from '../usage/usage.ts';
import type { TestBus } from './bus.ts';
import type { TestGrants } from './grants.ts';

/** A device on a temporary root; the path is short, for Unix sockets end at 107 bytes. */
export function temporaryDevice(): DeviceInfo & AsyncDisposable {
  const root = mkdtempSync(join(tmpdir(), 'dc-'));
  const paths = { etc: join(root, 'etc'), var: join(root, 'var'), run: join(root, 'run') };
  for (const path of Object.values(paths)) mkdirSync(path);
  return {
    service: 'device',
    sku: { id: 'test', title: 'Test device', simulated: true },
    core: { version: API_VERSION, api: API_VERSION },
    auth: 'token',
    paths,
    startedAt: Date.now(),
    grants: {},
    async [Symbol.asyncDispose]() {
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** The four services that the kernel provides, over the parts of the test host. */
export function kernelServices(
  manifest: PluginManifest,
  info: DeviceInfo,
  bus: TestBus,
  granted: TestGrants,
  meter: PluginMeter,
): readonly (readonly [ServiceRef<unknown>, object])[] {
  const status: PluginStatus = {
    id: manifest.id,
    version: manifest.version,
    summary: manifest.summary,
    state: 'active',
    isolation: 'inline',
    essential: false,
    since: info.startedAt,
    generation: 1,
    provides: manifest.provides ?? {},
    requires: manifest.requires ?? {},
    holds: [],
  };
  const find = async (id: string): Promise<PluginStatus> => {
    if (id === manifest.id) return status;
    throw new CoreError('PLUGIN_NOT_FOUND', { plugin: id });
  };
  const manager: PluginManager = {
    list: async () => [status],
    restart: find,
    disable: find,
    enable: find,
    release: find,
    apply: async () => ({ added: [], removed: [], changed: [], affected: [], stale: [], device: false }),
    usage: async () => [meter.usage()],
    eventLoop: async () => ({ p50Ms: 0, p99Ms: 0, maxMs: 0, utilization: 0, stalls: 0, unattributed: 0 }),
    sample: async () => [],
  };
  return [
    [device, { info: async () => info }],
    [grants, granted],
    [pluginManager, manager],
    [
      eventBus,
      {
        publish: async (event: Parameters<TestBus['publish']>[0]) => bus.publish(event),
        retained: async (filters: readonly string[]) => bus.retained(filters),
        stats: async () => bus.stats(),
      },
    ],
  ];
}
