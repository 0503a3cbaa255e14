import { join } from 'node:path';
import { definePlugin } from '@device-core/plugin-api';
import { ledger } from '@device-core/plugin-api/inside/services/ledger';
import { device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import { Departures } from './departures.ts';
import { ledgerOperations } from './operations.ts';

interface Settings {
  readonly keep: number;
  readonly flushMs: number;
}

const requires = { device, operations };

export const plugin = definePlugin<typeof requires, Settings>({
  requires,
  async setup(host, services) {
    const { scope, log, config } = host;
    const { paths } = await services.device.info();
    const folder = join(paths.var, 'ledger');
    const departures = new Departures({
      scope,
      log,
      folder,
      keep: config.keep,
      flushMs: config.flushMs,
      former: { voice: join(paths.var, 'voice', 'ledger.jsonl') },
    });
    await departures.load();
    host.provide(ledger, departures);
    for (const row of ledgerOperations(departures)) scope.use(`operation ${row.name}`, services.operations.add(row));
    host.tap('health.collect', (report) => departures.tell(report));
  },
});
