import { join } from 'node:path';
import { definePlugin, type PluginHost } from '@device-core/plugin-api';
import { pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { type Device, device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import { FileVault } from './file/file-vault.ts';
import { openKeyring } from './keyring/keyring.ts';
import { KeyringVault, type Until } from './keyring/keyring-vault.ts';
import { serveSecrets } from './serve.ts';
import type { Vault } from './vault.ts';

const requires = { device, operations, manager: pluginManager };

type Config = { readonly in: 'file' } | { readonly in: 'keyring'; readonly until: Until; readonly alone: boolean };

interface Places {
  /** Environment: systemd names the folder of its credentials there. */
  readonly env?: { readonly CREDENTIALS_DIRECTORY?: string };
  readonly keyring?: typeof openKeyring;
}

export function makeSecrets({ env = {}, keyring = openKeyring }: Places) {
  return definePlugin({
    requires,
    async setup(host: PluginHost<Config>, { device: own, operations: table, manager }) {
      const vault =
        host.config.in === 'keyring' ? await inKeyring(host, host.config, keyring) : await inFile(host, own, env);
      const serving = await serveSecrets(host, { operations: table, manager }, vault);
      host.tap('health.collect', serving.health);
      host.tap('log.line', serving.line);
    },
  });
}

async function inFile({ id, scope, log }: PluginHost, own: Device, env: NonNullable<Places['env']>): Promise<Vault> {
  const { paths, sku } = await own.info();
  const { etc, var: state, run } = paths;
  return FileVault.open({
    id,
    scope,
    log,
    folder: join(state, 'secrets'),
    run,
    key: { etc, credentials: env.CREDENTIALS_DIRECTORY },
    simulated: sku.simulated,
  });
}

async function inKeyring(
  { clock }: PluginHost,
  { until, alone }: Config & { readonly in: 'keyring' },
  open: typeof openKeyring,
): Promise<Vault> {
  const vault = new KeyringVault(() => open(until), { until, alone, now: () => clock.now() });
  await vault.retry();
  return vault;
}

export const plugin = makeSecrets({ env: process.env });
