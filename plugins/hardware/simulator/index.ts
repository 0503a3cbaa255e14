import { join } from 'node:path';
import { definePlugin } from '@device-core/plugin-api';
import { bridgeSimulator } from '@device-core/plugin-api/inside/services/bridge-simulator';
import {
  networkSimulator,
  powerSimulator,
  wallTimeSimulator,
} from '@device-core/plugin-api/inside/services/simulators';
import { device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import { SimulatedDevice } from './device.ts';
import { controlOperations } from './operations.ts';
import { scenarioOperations } from './scenario-operations.ts';
import { Stage } from './stage.ts';

interface Settings {
  readonly motion: { readonly endpoint: string; readonly line: number };
}

const requires = { device, operations };

export const plugin = definePlugin<typeof requires, Settings>({
  requires,
  async setup(host, services) {
    const { scope, clock, bus, config } = host;
    const { paths } = await services.device.info();
    const watchers = new Set<() => void>();
    const changed = (): void => {
      for (const wake of watchers) wake();
    };
    const simulated = new SimulatedDevice({
      operations: services.operations,
      motion: config.motion,
      changed,
    });
    host.when(bridgeSimulator, (bridge, while_) => {
      simulated.use(bridge);
      while_.defer('bridge', () => simulated.use(undefined));
    });
    host.when(networkSimulator, (steered, while_) => simulated.steer('network', steered, while_));
    host.when(powerSimulator, (steered, while_) => simulated.steer('power', steered, while_));
    host.when(wallTimeSimulator, (steered, while_) => simulated.steer('time', steered, while_));
    const folder = join(paths.var, 'simulator');
    const stage = new Stage({ scope, clock, bus, folder, operations: services.operations, changed });
    const table = [...controlOperations({ simulated, stage, watchers }), ...scenarioOperations(stage)];
    for (const operation of table) scope.use(`operation ${operation.name}`, services.operations.add(operation));
    host.tap('health.collect', (report) => {
      report.add('simulator', { status: 'okay', message: stage.words });
    });
  },
});
