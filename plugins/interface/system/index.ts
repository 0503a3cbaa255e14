import { CoreError, definePlugin } from '@device-core/plugin-api';
import { type ChangeRequest, type Changes, changes } from '@device-core/plugin-api/inside/services/changes';
import { grants } from '@device-core/plugin-api/inside/services/grants';
import { pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import { aboutOperations } from './about.ts';
import { Applying, applyOperation } from './apply.ts';
import { capabilityOperations } from './capability-operations.ts';
import { deviceOperation } from './device-operation.ts';
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
    const { id, scope, log, config, capabilities, bus } = host;
    const info = await services.device.info();
    const table = services.operations;
    const health = healthOperation({
      collect: host.hook('health.collect'),
      plugins: services.pluginManager,
      device: info,
      scope,
      timeoutMs: config.collectTimeoutMs,
    });
    // Health from before a plugin came, failed or went is stale.
    bus.subscribe('plugin.state', () => health.forget(), { retained: false });
    let service: Changes | undefined;
    const changing = async (request: ChangeRequest) => {
      if (service) return service.begin(request);
      throw new CoreError('UNAVAILABLE', {
        what: request.kind,
        reason: 'service changes is missing: enable plugin changes in the SKU',
      });
    };
    for (const operation of [
      health,
      ...aboutOperations(info),
      deviceOperation(info),
      ...pluginOperations(id, services.pluginManager, scope, log),
      applyOperation(services.pluginManager, changing),
      ...usageOperations(services.pluginManager),
      ...capabilityOperations(capabilities, services.grants),
    ])
      scope.use(operation.name, table.add(operation));
    host.when(changes, (kept, part) => {
      service = kept;
      part.use('plugins.apply', kept.serve(new Applying(services.pluginManager, host.clock)));
      part.defer('changes', () => {
        service = undefined;
      });
    });
    scope.use(loopback.name, table.addStream(loopback));
  },
});
