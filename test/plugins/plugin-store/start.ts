/** The plugin-store in a host of its own, with a manager that runs what installed.yaml says without running it. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Caller } from '@device-core/plugin-api';
import { installedLines, readInstalled } from '@device-core/plugin-api/inside/installed';
import { changes } from '@device-core/plugin-api/inside/services/changes';
import {
  type GuestUses,
  type PluginManager,
  type PluginStatus,
  pluginManager,
} from '@device-core/plugin-api/inside/services/plugin-manager';
import { operations } from '@device-core/plugin-api/services/operations';
import { createTestHost, type TestHost } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/apps/plugin-store/index.ts';
import { StoreCalls } from '../../fixtures/store-calls.ts';

export interface StoreBench extends AsyncDisposable {
  readonly host: TestHost;
  /** `<var>/plugins`. */
  readonly place: string;
  call(name: string, params?: object, caller?: Caller): Promise<Record<string, unknown>>;
  /** Stops the plugin and starts it again. */
  again(): Promise<void>;
  install(source: string, more?: object): Promise<Record<string, unknown>>;
}

const OTHERS: Readonly<Record<string, Partial<PluginStatus>>> = {
  lamp: { provides: { lamp: '1.2.0' } },
};

function status(id: string, more: Partial<PluginStatus>): PluginStatus {
  return {
    id,
    version: '1.0.0',
    summary: id,
    state: 'active',
    isolation: 'inline',
    essential: false,
    since: 0,
    generation: 1,
    provides: {},
    requires: {},
    holds: [],
    ...more,
  };
}

/** `others` are plugins of the SKU, `guests` those whose uses the manager tells. */
export async function startStore(
  config: object = {},
  others = OTHERS,
  guests: () => readonly GuestUses[] = () => [],
): Promise<StoreBench> {
  const calls = new StoreCalls();
  let state = '';
  let starts = 0;
  const list = async (): Promise<readonly PluginStatus[]> => {
    const lines = installedLines(readInstalled(state).installed);
    const installed = Object.entries(lines).map(([id, { version }]) => status(id, { version }));
    return [...Object.entries(others).map(([id, more]) => status(id, more)), ...installed];
  };
  const change = { added: [], removed: [], changed: [], affected: [], stale: [], device: false };
  const manager: Partial<PluginManager> = { list, apply: async () => change, uses: async () => guests() };
  const host = await createTestHost(plugin, {
    manifest: 'manifests/plugins/apps/plugin-store.yaml',
    config,
    services: [
      [pluginManager, manager],
      [changes, calls.changes],
    ],
  });
  state = host.device.paths.var;
  mkdirSync(state, { recursive: true });
  await host.appear(operations, calls as never);
  return {
    host,
    place: join(state, 'plugins'),
    call: calls.call,
    install: (source, more = {}) => calls.call('plugins.install', { source, ...more }),
    again: () => host.configure({ ...config, probationMs: 30_000 + ++starts }),
    async [Symbol.asyncDispose]() {
      await host.stop();
    },
  };
}
