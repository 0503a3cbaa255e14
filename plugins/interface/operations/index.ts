import { definePlugin, type ServiceUser } from '@device-core/plugin-api';
import { operationGate, type Refused } from '@device-core/plugin-api/inside/operations';
import { grants } from '@device-core/plugin-api/inside/services/grants';
import { device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import { Tracer, traces } from '@device-core/plugin-api/tracing';
import { discoveryOperations } from './discovery.ts';
import { refusalTeller } from './refused.ts';

interface OperationsConfig {
  readonly validateResults?: boolean;
}

/** A plugin that starts after the device became ready gets no message of it. */
const READY_AT_THE_LATEST_MS = 3_000;

const requires = { device, grants };

export const plugin = definePlugin<typeof requires, OperationsConfig>({
  requires,
  async setup(host, services) {
    const info = await services.device.info();
    const { capabilities, scope, log } = host;
    const before = host.hook('operation.before');
    const confirm = host.hook('operation.confirm');
    // A simulated device tells its developer. While it starts, who asks for its health would load Ajv before the plugins are there.
    let checks = host.config.validateResults ?? false;
    if (host.config.validateResults === undefined && info.sku.simulated) {
      const begin = (): void => {
        checks = true;
      };
      host.tap('kernel.ready', begin);
      scope.timeout('results are checked', READY_AT_THE_LATEST_MS, begin);
    }
    const checkResults = (): boolean => checks;
    const told = refusalTeller(scope, (count) => void host.bus.publish('system.refused', { count }));
    const refused: Refused = (caller, refusal) => {
      told();
      if (caller && refusal) void services.grants.refused(caller, refusal);
    };
    const tracer = new Tracer(host.clock);
    host.when(traces, (service, part) => tracer.use(service, part));
    const coming = new Set<string>();
    host.bus.subscribe('plugin.state', ({ payload }) => {
      const { plugin: id, state } = payload as { readonly plugin: string; readonly state: string };
      if (state === 'starting' && id !== host.id) coming.add(id);
      else coming.delete(id);
    });
    const starting = (): readonly string[] => [...coming];
    const options = { capabilities, scope, log, before, confirm, checkResults, refused, tracer, starting };
    const gate = operationGate(options);

    // Its own do not come through the service, where the host would measure them.
    const self: ServiceUser = { plugin: host.id, measured: (_kind, fn) => fn, failed: () => undefined };
    for (const operation of discoveryOperations(gate.table, info, starting)) gate.table.add(operation, self);
    host.tap('health.collect', (report) => {
      const late = gate.late();
      const message = `${late} answers came too late and were dropped`;
      report.add('operations', late > 0 ? { status: 'okay', message } : { status: 'okay' });
    });
    host.provide(operations, gate.service);
  },
});
