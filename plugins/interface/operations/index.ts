import { definePlugin, device, operations, type ServiceUser } from '@device-core/plugin-api';
import { operationGate } from '@device-core/plugin-api/operations';
import { discoveryOperations } from './discovery.ts';

interface OperationsConfig {
  readonly validateResults?: boolean;
}

export const plugin = definePlugin<{ device: typeof device }, OperationsConfig>({
  requires: { device },
  async setup(host, services) {
    const info = await services.device.info();
    const { capabilities, scope, log } = host;
    const before = host.hook('operation.before');
    const checkResults = host.config.validateResults ?? info.sku.simulated;
    const gate = operationGate({ capabilities, scope, log, before, checkResults });

    // Its own do not come through the service, where the host would measure them.
    const self: ServiceUser = { plugin: host.id, measured: (_kind, fn) => fn, failed: () => undefined };
    for (const operation of discoveryOperations(gate.table, info)) gate.table.add(operation, self);
    host.tap('health.collect', (report) => {
      const late = gate.late();
      const message = `${late} answers came too late and were dropped`;
      report.add('operations', late > 0 ? { status: 'okay', message } : { status: 'okay' });
    });
    host.provide(operations, gate.service);
  },
});
