import { definePlugin, type PluginHost } from '@device-core/plugin-api';
import { serveSecrets } from '@device-core/plugin-api/inside/secrets-kit';
import { pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { operations } from '@device-core/plugin-api/services/operations';
import { openKeyring } from './keyring.ts';
import { KeyringVault, type Until } from './keyring-vault.ts';

const requires = { operations, manager: pluginManager };

interface Config {
  readonly until: Until;
  readonly alone: boolean;
}

export function makeSecretsKeyring(open: typeof openKeyring) {
  return definePlugin({
    requires,
    async setup(host: PluginHost<Config>, { operations: table, manager }) {
      const { until, alone } = host.config;
      const vault = new KeyringVault(() => open(until), { until, alone, now: () => host.clock.now() });
      await vault.retry();
      const serving = await serveSecrets(host as never, { operations: table, manager }, vault);
      host.tap('health.collect', serving.health);
      host.tap('log.line', serving.line);
    },
  });
}

export const plugin = makeSecretsKeyring(openKeyring);
