import { join } from 'node:path';
import { definePlugin } from '@device-core/plugin-api';
import { changes } from '@device-core/plugin-api/inside/services/changes';
import { device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import { ChangeService, type ChangesConfig } from './changes.ts';
import { changeOperations } from './operations.ts';
import { isOver } from './record.ts';
import { Records } from './records.ts';

const requires = { device, operations };

export const plugin = definePlugin<typeof requires, ChangesConfig>({
  requires,
  async setup(host, services) {
    const { config, log, scope, capabilities } = host;
    const { paths } = await services.device.info();
    const records = new Records(join(paths.var, 'changes'), config.history, log);
    await records.open();
    const service = new ChangeService(records, host);
    host.tap('health.collect', (report) => {
      const open = records.list().filter((record) => !isOver(record)).length;
      report.add('changes', { status: 'okay', message: `${open} changes under way` });
      if (records.newer) report.warn('STATE_NEWER', `changes that a newer Core began: ${records.newer.message}`);
    });
    host.provide(changes, service);
    for (const operation of changeOperations(service, capabilities))
      scope.use(operation.name, services.operations.add(operation));
  },
});
