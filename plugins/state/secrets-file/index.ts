import { join } from 'node:path';
import { definePlugin } from '@device-core/plugin-api';
import { serveSecrets } from '@device-core/plugin-api/inside/secrets-kit';
import { pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import { FileVault } from './file-vault.ts';

const requires = { device, operations, manager: pluginManager };

/** `env`: systemd names the folder of its credentials there. */
export function makeSecretsFile(env: { readonly CREDENTIALS_DIRECTORY?: string }) {
  return definePlugin({
    requires,
    async setup(host, { device: own, operations: table, manager }) {
      const { paths, sku } = await own.info();
      const { etc, var: state, run } = paths;
      const vault = await FileVault.open({
        scope: host.scope,
        log: host.log,
        folder: join(state, 'secrets'),
        run,
        key: { etc, credentials: env.CREDENTIALS_DIRECTORY },
        simulated: sku.simulated,
      });
      const serving = await serveSecrets(host as never, { operations: table, manager }, vault);
      host.tap('health.collect', serving.health);
      host.tap('log.line', serving.line);
    },
  });
}

export const plugin = makeSecretsFile(process.env);
