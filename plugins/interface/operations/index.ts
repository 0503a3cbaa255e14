import { definePlugin, device, FOR_USER, type Operations, operations, type ServiceUser } from '@device-core/plugin-api';
import { discoveryOperations } from './discovery.ts';
import { Gate } from './gate.ts';
import { InFlight } from './in-flight.ts';
import { Schemas } from './schema.ts';
import { Table } from './table.ts';

interface OperationsConfig {
  readonly validateResults?: boolean;
}

export const plugin = definePlugin<{ device: typeof device }, OperationsConfig>({
  requires: { device },
  async setup(host, services) {
    const info = await services.device.info();
    const inFlight = new InFlight(host.scope);
    const table = new Table(new Schemas(), host.capabilities, host.scope, host.log, (entry) =>
      inFlight.endAll((call) => call.name === entry.name, 'its plugin is stopping'),
    );
    const checkResults = host.config.validateResults ?? info.sku.simulated;
    const gate = new Gate(table, inFlight, host.hook('operation.before'), host.log, checkResults);

    // Its own do not come through the service, where the host would measure them.
    const self: ServiceUser = { plugin: host.id, measured: (_kind, fn) => fn, failed: () => undefined };
    for (const operation of discoveryOperations(table, info)) table.add(operation, self);
    host.tap('health.collect', (report) => {
      const late = gate.late > 0 ? { message: `${gate.late} answers came too late and were dropped` } : {};
      report.add('operations', { status: 'okay', ...late });
    });
    const serviceFor = (user?: ServiceUser): Operations => ({
      add: (operation) => table.add(operation, user),
      addStream: (endpoint) => table.addStream(endpoint, user),
      list: async () => table.list(),
      streams: async () => table.streams(),
      watch: (listener) => table.watch(listener),
      permitted: async (name, call) => gate.permitted(name, call),
      invoke: (name, params, call) => gate.invoke(name, params, call),
      openStream: (name, params, channel, call) => gate.openStream(name, params, channel, call),
    });
    host.provide<Operations>(operations, Object.assign(serviceFor(), { [FOR_USER]: serviceFor }));
  },
});
