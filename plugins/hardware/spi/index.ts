import { bridge, definePlugin, operations, type SpiHandle, spi } from '@device-core/plugin-api';
import { Endpoints } from './endpoints.ts';
import { HandleTable } from './handles.ts';
import { spiOperations } from './operations.ts';
import { Transfers } from './transfers.ts';

interface Settings {
  readonly handles: readonly SpiHandle[];
  readonly inFlightPerHandle: number;
  readonly inFlightPerApp: number;
}

export const plugin = definePlugin({
  requires: { operations },
  setup(host, services) {
    const settings = host.config as Settings;
    const table = new HandleTable();
    for (const handle of settings.handles) table.register(handle, 'sku');
    const transfers = new Transfers(table, host.scope, settings.inFlightPerHandle);
    const endpoints = new Endpoints(table, host.log);
    host.when(bridge, async (service, scope) => {
      transfers.attach(service, scope);
      await endpoints.attach(service, scope);
    });
    host.tap('health.collect', (report) => endpoints.tell(report));
    host.provide(spi, {
      register(handle, owner) {
        const registered = table.register(handle, owner);
        return { [Symbol.asyncDispose]: async () => registered[Symbol.dispose]() };
      },
      handles: async () => table.list(),
      transfer: (handle, tx, rxLength, options) => transfers.transfer(handle, tx, rxLength, options),
    });
    const { capabilities } = host;
    for (const operation of spiOperations({ table, transfers, capabilities, perApp: settings.inFlightPerApp })) {
      host.scope.use(`operation ${operation.name}`, services.operations.add(operation));
    }
  },
});
