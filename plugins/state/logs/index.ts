import { join } from 'node:path';
import { apps, definePlugin, device, operations } from '@device-core/plugin-api';
import type { LogsConfig } from './configuration.ts';
import { lastStartOperation, readLastStart } from './last-start.ts';
import { LogFiles } from './log-files.ts';
import { readOperation } from './reading.ts';
import { LogStreams } from './streaming.ts';

const requires = { operations, device };

export const plugin = definePlugin<typeof requires, LogsConfig>({
  requires,
  async setup(host, services) {
    const { config, scope } = host;
    const { paths } = await services.device.info();
    const files = new LogFiles(join(paths.var, 'log'), config.file);
    const streams = new LogStreams(files, config, scope);
    for (const operation of [readOperation(files, config), streams.operation(), lastStartOperation(files, config)])
      scope.use(operation.name, services.operations.add(operation));
    host.when(apps, (service, whileThere) => {
      files.apps = service;
      whileThere.defer('apps', () => {
        files.apps = undefined;
      });
    });
    // The past does not change: read once, at the first look at the health.
    let last: ReturnType<typeof readLastStart> | undefined;
    host.tap('health.collect', async (report) => {
      if (!config.warnOfLastStart) return;
      last ??= readLastStart(files.core, config.scanBytes);
      const start = await last;
      if (!start || start.outcome === 'stopped') return;
      const blame = start.suspects.length > 0 ? `; look at ${start.suspects.join(', ')}` : '';
      report.warn(
        'LAST_START',
        `the last start with ${start.sku} ended ${start.outcome}${blame}: devicectl logs --last-start`,
      );
    });
  },
});
