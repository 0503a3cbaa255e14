import { join } from 'node:path';
import { definePlugin, type PluginHost } from '@device-core/plugin-api';
import { remainsFolder } from '@device-core/plugin-api/inside/pending-state';
import { appSupervisor } from '@device-core/plugin-api/inside/services/app-supervisor';
import { identity } from '@device-core/plugin-api/inside/services/identity';
import { launcher } from '@device-core/plugin-api/inside/services/launcher';
import { device } from '@device-core/plugin-api/services/device';
import { hideOutput } from '../shared/hide-output.ts';
import { ProcessRecords } from './former-processes.ts';
import { ProcessSupervisor } from './process-supervisor.ts';

interface Config {
  readonly logBytes: number;
}

export const plugin = definePlugin({
  requires: { device, identity, launcher },
  async setup(host: PluginHost<Config>, services) {
    const { paths } = await services.device.info();
    const output = hideOutput(host);
    host.tap('health.collect', output.tell);
    const supervisor = new ProcessSupervisor({
      ...services,
      records: await ProcessRecords.open(join(paths.run, 'apps'), host.clock),
      logs: join(paths.var, 'log', 'apps'),
      remains: remainsFolder(paths.var),
      data: join(paths.var, 'apps'),
      logBytes: host.config.logBytes,
      hide: output.hide,
      clock: host.clock,
      scope: host.scope,
      log: host.log,
    });
    // The plugins that started guests have stopped before.
    host.scope.defer('guests', () => supervisor.endAll());
    host.provide(appSupervisor, supervisor);
  },
});
