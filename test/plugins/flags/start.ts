/** The plugin over the real layers of the configuration. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CoreError, type Logger } from '@device-core/plugin-api';
import { type PluginSettings, pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { type AppStatus, apps } from '@device-core/plugin-api/services/apps';
import { type ConfigChange, config } from '@device-core/plugin-api/services/config';
import { type FlagDeclaration, flags } from '@device-core/plugin-api/services/flags';
import { operations } from '@device-core/plugin-api/services/operations';
import { createTestHost, given, TestOperations } from '@device-core/plugin-api/testing';
import { Problems } from '../../../plugins/state/config/problems.ts';
import { ConfigStore } from '../../../plugins/state/config/store.ts';
import { plugin } from '../../../plugins/state/flags/index.ts';

const quiet: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

export const MANIFEST = join(import.meta.dirname, '../../../manifests/plugins/state/flags.yaml');
export const SHORT: FlagDeclaration = { type: 'boolean', default: false, description: 'answers in few words' };
export const LIMIT: FlagDeclaration = {
  type: 'integer',
  default: 3,
  description: 'tries',
  minimum: 1,
  maximum: 9,
};

export async function start(
  options: {
    readonly sku?: Readonly<Record<string, FlagDeclaration>>;
    readonly plugins?: readonly Pick<PluginSettings, 'flags' | 'id'>[];
    /** Files of the device, by their path below the root. */
    readonly files?: Readonly<Record<string, string>>;
  } = {},
) {
  const root = mkdtempSync(join(tmpdir(), 'dc-flags-'));
  const paths = { etc: join(root, 'etc'), var: join(root, 'var'), run: join(root, 'run') };
  for (const path of Object.values(paths)) mkdirSync(path);
  for (const [path, text] of Object.entries(options.files ?? {})) {
    mkdirSync(join(root, path, '..'), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const problems = new Problems();
  const store = new ConfigStore({ paths, problems, log: quiet, maxKeys: 1024, maxBytes: 1 << 20 });
  await store.load();
  const told: ConfigChange[] = [];
  store.watch({ app: 'com.a' }, (change) => told.push(change));
  const table = new TestOperations();
  let installed = options.plugins ?? [];
  const host = await createTestHost(plugin, {
    manifest: MANIFEST,
    config: { flags: options.sku ?? { short: SHORT } },
    services: [
      [operations, table],
      [config, store],
      given(apps, {
        status: async (app: string) => {
          if (app !== 'com.a') throw new CoreError('APP_NOT_FOUND', { app });
          return { id: app } as AppStatus;
        },
      }),
      given(pluginManager, { settings: async () => installed as readonly PluginSettings[] }),
    ],
  });
  return {
    host,
    table,
    store,
    paths,
    root,
    problems,
    told,
    flags: host.service(flags),
    install(plugins: readonly Pick<PluginSettings, 'flags' | 'id'>[]) {
      installed = plugins;
      host.publish('plugin.changed', { result: 'applied' });
    },
    async [Symbol.asyncDispose]() {
      await host.stop();
      await store.close();
      if (host.leaks().length > 0) throw new Error(`leaks: ${host.leaks().join(', ')}`);
      rmSync(root, { recursive: true, force: true });
    },
  };
}
