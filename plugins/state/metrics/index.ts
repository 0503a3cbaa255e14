import { definePlugin, reasonOf } from '@device-core/plugin-api';
import { eventBus } from '@device-core/plugin-api/inside/services/event-bus';
import { pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { secretScan } from '@device-core/plugin-api/inside/services/secret-scan';
import { device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import { Meter, metrics } from '@device-core/plugin-api/telemetry';
import { CoreSource } from './core-source.ts';
import { metricsOperations } from './operations.ts';
import { Registry } from './registry.ts';

interface Settings {
  readonly series: number;
  readonly perMetric: number;
  readonly sourceMs: number;
}

const requires = { device, operations, pluginManager, eventBus };
/** Most series of the Core's own metrics, some of which have one for each plugin or app. */
const CORE_SERIES = 500;

export const plugin = definePlugin<typeof requires, Settings>({
  requires,
  async setup(host, services) {
    const { scope, log, config } = host;
    const { startedAt } = await services.device.info();
    const registry = new Registry({ ...config, scope });
    const always = { manager: services.pluginManager, bus: services.eventBus, startedAt };
    const core = new CoreSource(host, always, (part, thrown) => {
      log.warn({ part, reason: reasonOf(thrown) }, 'metrics of a part of the Core are left out');
    });
    scope.use('metrics of the Core', registry.add('core', core, CORE_SERIES));

    const meter = new Meter();
    const refusals = meter.counter('device.capability.refusals', {
      unit: '{refusal}',
      description: 'Capabilities that were refused',
      level: 'usage',
      why: 'Shows apps and pages that ask for more than they hold',
    });
    scope.use('metrics of refusals', registry.add('core', meter));
    host.bus.subscribe(
      'system.refused',
      ({ payload }) => refusals.add(Number((payload as { count?: unknown }).count)),
      {
        retained: false,
      },
    );
    host.when(secretScan, (service, part) => {
      registry.scan = service;
      part.defer('what is looked for in labels', () => {
        registry.scan = undefined;
      });
    });
    host.tap('kernel.ready', () => core.ready());
    host.tap('health.collect', (report) => registry.tell(report));
    host.provide(metrics, registry);
    for (const operation of metricsOperations(registry)) scope.use(operation.name, services.operations.add(operation));
  },
});
