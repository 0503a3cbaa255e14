import { definePlugin } from '@device-core/plugin-api';
import { operations } from '@device-core/plugin-api/services/operations';
import { sensors } from '@device-core/plugin-api/services/sensors';
import { readingStream, sensorOperations } from './operations.ts';
import { Registry } from './registry.ts';

interface Settings {
  readonly readMs: number;
  readonly queue: number;
}

export const plugin = definePlugin<{ operations: typeof operations }, Settings>({
  requires: { operations },
  setup(host, services) {
    const { scope, config, capabilities } = host;
    const registry = new Registry(scope, config.readMs);
    host.provide(sensors, {
      register: (description, source, owner) => registry.register(description, source, owner),
      list: () => registry.list(),
      read: (name, options) => registry.read(name, options),
      subscribe: (name, intervalMs, listener) => registry.subscribe(name, intervalMs, listener),
    });
    for (const operation of sensorOperations(registry, capabilities))
      scope.use(`operation ${operation.name}`, services.operations.add(operation));
    const stream = readingStream(registry, capabilities, config.queue);
    scope.use(`stream ${stream.name}`, services.operations.addStream(stream));
    host.tap('health.collect', (report) => {
      const [first] = registry.troubled.toSorted((one, other) => Number(one.waits) - Number(other.waits));
      if (!first) return report.add('sensors', { status: 'okay' });
      const message = `${first.name}: ${first.problem}`;
      if (first.waits) report.add('sensors', { status: 'waiting', code: 'NOT_INITIALIZED', message });
      else report.add('sensors', { status: 'error', code: 'SENSOR_FAILED', message });
    });
  },
});
