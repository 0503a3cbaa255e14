import { apps, definePlugin, device, eventBus, operations } from '@device-core/plugin-api';
import type { EventsConfig } from './configuration.ts';
import { EventStreams } from './event-stream.ts';
import { Greeting } from './greeting.ts';
import { publishOperation } from './publishing.ts';
import { SessionRegistry } from './session-registry.ts';
import { subscribeOperations } from './subscribing.ts';
import { SubscriptionPolicy } from './subscription-policy.ts';

const requires = { operations, eventBus, device };

export const plugin = definePlugin<typeof requires, EventsConfig>({
  requires,
  async setup(host, services) {
    const { bus, config, scope, log, capabilities } = host;
    const { startedAt } = await services.device.info();
    const policy = new SubscriptionPolicy(config.areas, capabilities);
    const registry = new SessionRegistry(bus, config, scope, log);
    const streams = new EventStreams(bus, config, policy, scope);
    const greeting = new Greeting(services.eventBus, registry, policy, log);
    for (const operation of [
      publishOperation(services.eventBus, capabilities, startedAt.toString(36)),
      ...subscribeOperations(registry, policy),
      streams.operation(),
    ])
      scope.use(operation.name, services.operations.add(operation));
    host.when(apps, (service, whileThere) => {
      greeting.apps = service;
      whileThere.defer('apps', () => {
        greeting.apps = undefined;
      });
    });
    host.tap('session.open', (ready, session) => greeting.extend(ready, session));
    host.tap('health.collect', async (report) => {
      const { published, dropped } = await services.eventBus.stats();
      const lost = Object.entries(dropped).map(([priority, count]) => `${count} ${priority}`);
      const message = `${published} published, lost by slow subscribers: ${lost.join(', ')}; ${registry.size} sessions, ${streams.size} streams`;
      report.add('events', { status: 'okay', message });
    });
  },
});
