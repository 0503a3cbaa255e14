import { definePlugin, device, grants, operations, pluginManager } from '@device-core/plugin-api';
import { aboutOperations } from './about.ts';
import { capabilityOperations } from './capability-operations.ts';
import { healthOperation } from './health.ts';
import { loopback } from './loopback.ts';
import { pluginOperations } from './plugin-operations.ts';
import { usageOperations } from './usage-operations.ts';

const requires = { operations, device, pluginManager, grants };

interface SystemConfig {
  readonly collectTimeoutMs: number;
}

export const plugin = definePlugin<typeof requires, SystemConfig>({
  requires,
  async setup(host, services) {
    const { id, scope, log, config, capabilities } = host;
    const info = await services.device.info();
    const table = services.operations;
    const health = healthOperation({
      collect: host.hook('health.collect'),
      plugins: services.pluginManager,
      device: info,
      scope,
      timeoutMs: config.collectTimeoutMs,
    });
    for (const operation of [
      health,
      ...aboutOperations(info),
      ...pluginOperations(id, services.pluginManager, scope, log),
      ...usageOperations(services.pluginManager),
      ...capabilityOperations(capabilities, services.grants),
    ])
      scope.use(operation.name, table.add(operation));
    scope.use(loopback.name, table.addStream(loopback));
  },
});
