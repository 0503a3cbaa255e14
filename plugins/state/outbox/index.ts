import { join } from 'node:path';
import { definePlugin, type PluginState } from '@device-core/plugin-api';
import { ledger } from '@device-core/plugin-api/inside/services/ledger';
import { outbox } from '@device-core/plugin-api/inside/services/outbox';
import { device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import { outboxOperations } from './operations.ts';
import { Outboxes } from './outboxes.ts';

interface Settings {
  readonly bytes: number;
  readonly messages: number;
  readonly ageMs: number;
  readonly batch: number;
  readonly sendMs: number;
  readonly destinations: number;
}

const requires = { device, operations };
const OVER: readonly PluginState[] = ['stopped', 'failed', 'quarantined', 'waiting'];

export const plugin = definePlugin<typeof requires, Settings>({
  requires,
  async setup(host, services) {
    const { scope, log, config, bus } = host;
    const { bytes, messages, ageMs, batch, sendMs } = config;
    const { paths } = await services.device.info();
    const folder = join(paths.var, 'outbox');
    const usual = { bytes, messages, ageMs, batch };
    const outboxes = new Outboxes({ scope, log, folder, usual, sendMs, most: config.destinations });
    await outboxes.look();
    bus.subscribe('system.network', ({ payload }) => {
      outboxes.network((payload as { readonly state?: unknown }).state === 'offline');
    });
    bus.subscribe('plugin.state', async ({ payload }) => {
      const { plugin: id, state } = payload as { readonly plugin: string; readonly state: PluginState };
      if (OVER.includes(state)) await outboxes.gone(id);
    });
    host.when(ledger, (service, part) => outboxes.useLedger(service, part));
    host.provide(outbox, Object.assign(outboxes, outboxes.view({ plugin: host.id })));
    for (const row of outboxOperations(outboxes)) scope.use(`operation ${row.name}`, services.operations.add(row));
    host.tap('health.collect', async (report) => outboxes.tell(report));
  },
});
