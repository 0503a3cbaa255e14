import { join } from 'node:path';
import { definePlugin, whileThere } from '@device-core/plugin-api';
import { logControl } from '@device-core/plugin-api/inside/services/log-control';
import { secretScan } from '@device-core/plugin-api/inside/services/secret-scan';
import { apps } from '@device-core/plugin-api/services/apps';
import { device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import { bundleOperation, type Hide } from './bundle-operation.ts';
import type { LogsConfig } from './configuration.ts';
import { fileOperations } from './file-operations.ts';
import { lastStartOperation, readLastStart } from './last-start.ts';
import { Levels } from './levels.ts';
import { LogFiles } from './log-files.ts';
import { readOperation } from './reading.ts';
import { FlightRecorder } from './recorder.ts';
import { LogStreams } from './streaming.ts';
import { UnitJournal } from './unit-journal.ts';

const requires = { operations, device, logControl };
const MB = 1 << 20;

export const plugin = definePlugin<typeof requires, LogsConfig>({
  requires,
  async setup(host, services) {
    const { config, scope, log } = host;
    const { files: limits, recorder: recording } = config;
    await services.logControl.limit({
      fileBytes: limits.fileMB * MB,
      totalBytes: limits.totalMB * MB,
      days: limits.days,
      freeBytes: limits.freeMB * MB,
    });
    const { paths, service } = await services.device.info();
    const files = new LogFiles(join(paths.var, 'log'), config.file);
    const streams = new LogStreams(files, config, scope);
    const { lines, kilobytes, perSecond } = recording;
    const recorder = recording.on
      ? scope.use('flight recorder', await services.logControl.record({ lines, bytes: kilobytes << 10, perSecond }))
      : undefined;
    const flight = new FlightRecorder(recorder, join(paths.var, 'log', 'flight'), host);
    if (recorder) flight.watch(host.bus);
    const scan = whileThere(host, secretScan);
    const hide: Hide = async (texts) => scan()?.hide(texts) ?? texts;
    const rows = [
      ...[readOperation(files, config), streams.operation(), lastStartOperation(files, config)],
      ...new Levels(services.logControl, scope, log).operations(),
      flight.operation(),
      ...fileOperations(files, hide),
      bundleOperation(services.operations, hide, new UnitJournal(scope, service)),
    ];
    for (const row of rows) scope.use(row.name, services.operations.add(row));
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
