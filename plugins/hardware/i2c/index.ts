import { definePlugin } from '@device-core/plugin-api';
import { BusUser, ENDPOINT_CLASS, executedIn, HandleTable } from '@device-core/plugin-api/buses';
import { PerCaller } from '@device-core/plugin-api/operation-kit';
import { endpoints } from '@device-core/plugin-api/services/endpoints';
import { type I2cHandle, i2c } from '@device-core/plugin-api/services/i2c';
import { operations } from '@device-core/plugin-api/services/operations';
import { checkAddress, DEFAULT_HZ, OP, speedBody } from './messages.ts';
import { i2cOperations } from './operations.ts';
import { Transfers } from './transfers.ts';

interface Settings {
  readonly handles: readonly I2cHandle[];
  readonly speeds: Readonly<Record<string, number>>;
  readonly inFlightPerHandle: number;
  readonly inFlightPerApp: number;
}

const CONFIGURE_MS = 1_000;

export const plugin = definePlugin<{ operations: typeof operations }, Settings>({
  requires: { operations },
  setup(host, services) {
    const { handles, speeds, inFlightPerHandle, inFlightPerApp } = host.config;
    const table = new HandleTable<I2cHandle>('I2C');
    const user: BusUser<I2cHandle> = new BusUser(table, host.scope, {
      class: ENDPOINT_CLASS.i2c,
      perHandle: inFlightPerHandle,
      check: checkAddress,
    });
    const transfers = new Transfers({ table, user, speeds, log: host.log, scope: host.scope });
    user.onConfigure(async (row, options) => {
      const hz = speeds[row.handle.endpoint];
      // Not named now, it may have been before the SKU was changed: the bridge keeps a speed until it is reset.
      const body = speedBody(hz ?? DEFAULT_HZ);
      try {
        await user.request(row, { ...options, op: OP.configure, body, deadlineMs: CONFIGURE_MS });
      } catch (error) {
        if (hz !== undefined || executedIn(error) !== 'no') throw error; // a bus with a speed of its own
      }
    });
    user.registerListed(handles);
    host.when(endpoints, (service, scope) => user.attach(service, scope));
    host.tap('health.collect', (report) => report.add('i2c', user.health));
    host.provide(i2c, {
      register: (handle, owner) => user.register(handle, owner),
      handles: async () => table.rows.map(({ handle, ...counts }) => ({ ...handle, ...counts })),
      transfer: (handle, segments, options) => transfers.transfer(handle, segments, options),
    });
    const { capabilities } = host;
    const perCaller = new PerCaller(inFlightPerApp);
    for (const operation of i2cOperations({ table, transfers, capabilities, perCaller }))
      host.scope.use(`operation ${operation.name}`, services.operations.add(operation));
  },
});
