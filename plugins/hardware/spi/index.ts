import { definePlugin } from '@device-core/plugin-api';
import { HandleTable } from '@device-core/plugin-api/buses';
import { PerCaller } from '@device-core/plugin-api/operation-kit';
import { endpoints } from '@device-core/plugin-api/services/endpoints';
import { operations } from '@device-core/plugin-api/services/operations';
import { type SpiHandle, spi } from '@device-core/plugin-api/services/spi';
import { spiOperations } from './operations.ts';
import { spiUser, Transfers } from './transfers.ts';

interface Settings {
  readonly handles: readonly SpiHandle[];
  readonly inFlightPerHandle: number;
  readonly inFlightPerApp: number;
}

export const plugin = definePlugin<{ operations: typeof operations }, Settings>({
  requires: { operations },
  setup(host, services) {
    const { handles, inFlightPerHandle, inFlightPerApp } = host.config;
    const table = new HandleTable<SpiHandle>('SPI');
    const user = spiUser(table, host.scope, inFlightPerHandle);
    user.registerListed(handles);
    const transfers = new Transfers(table, user);
    host.when(endpoints, (service, scope) => user.attach(service, scope));
    host.tap('health.collect', (report) => report.add('spi', user.health));
    host.provide(spi, {
      register: (handle, owner) => user.register(handle, owner),
      handles: async () => table.rows.map(({ handle, ...counts }) => ({ ...handle, ...counts })),
      transfer: (handle, tx, rxLength, options) => transfers.transfer(handle, tx, rxLength, options),
    });
    const { capabilities } = host;
    const perCaller = new PerCaller(inFlightPerApp, 'a transfer');
    for (const operation of spiOperations({ table, transfers, capabilities, perCaller }))
      host.scope.use(`operation ${operation.name}`, services.operations.add(operation));
  },
});
