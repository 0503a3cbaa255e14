import { definePlugin } from '@device-core/plugin-api';
import { BusUser, ENDPOINT_CLASS, HandleTable } from '@device-core/plugin-api/buses';
import { Listeners, PerCaller } from '@device-core/plugin-api/operation-kit';
import { endpoints } from '@device-core/plugin-api/services/endpoints';
import { operations } from '@device-core/plugin-api/services/operations';
import { type PioHandle, pio } from '@device-core/plugin-api/services/pio';
import { Machines } from './machines.ts';
import { pioOperations } from './operations.ts';

interface Settings {
  readonly handles: readonly PioHandle[];
  readonly inFlightPerHandle: number;
  readonly inFlightPerApp: number;
}

export const plugin = definePlugin<{ operations: typeof operations }, Settings>({
  requires: { operations },
  setup(host, services) {
    const { handles, inFlightPerHandle, inFlightPerApp } = host.config;
    const { capabilities, scope, log, bus } = host;
    const table = new HandleTable<PioHandle>('PIO');
    const user: BusUser<PioHandle> = new BusUser(table, scope, {
      class: ENDPOINT_CLASS.pio,
      perHandle: inFlightPerHandle,
      onEvent(endpoint, event) {
        machines.take(endpoint, event);
        const { at, atUs, timestampUs, lost, data } = event;
        bus.publish('pio.interrupt', { endpoint, flags: data[0] ?? 0, at, atUs, timestampUs, lost });
      },
    });
    const listeners = new Listeners<number>(log);
    const machines = new Machines(table, user, listeners);
    // Programs belong to their loader: a reset of the bridge takes them away, and only their owner knows how to begin again.
    const runs = new Map<string, string>();
    user.onConfigure(async ({ handle: { endpoint } }, _, boot) => {
      const before = runs.get(endpoint);
      runs.set(endpoint, boot);
      if (before !== undefined && before !== boot) bus.publish('pio.reset', { endpoint });
    });
    user.registerListed(handles);
    host.when(endpoints, (service, part) => user.attach(service, part));
    host.tap('health.collect', (report) => report.add('pio', user.health));
    host.provide(pio, {
      register: (handle, owner) => user.register(handle, owner),
      handles: async () =>
        table.rows.map((row) => ({ ...row.handle, owner: row.owner, interrupts: machines.interruptsOf(row) })),
      load: (name, program, origin, options) => machines.load(name, program, origin, options),
      loadSource: (name, source, origin, options) => machines.loadSource(name, source, origin, options),
      configure: (name, config, options) => machines.configure(name, config, options),
      enable: (name, enabled, options) => machines.enable(name, enabled, options),
      write: (name, words, width, options) => machines.write(name, words, width, options),
      read: (name, count, width, options) => machines.read(name, count, width, options),
      onInterrupt: (name, listener) => listeners.add(name, listener),
    });
    const perCaller = new PerCaller(inFlightPerApp);
    for (const operation of pioOperations({ table, machines, capabilities, perCaller }))
      scope.use(`operation ${operation.name}`, services.operations.add(operation));
  },
});
