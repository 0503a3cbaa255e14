import { definePlugin } from '@device-core/plugin-api';
import { appSockets } from '@device-core/plugin-api/inside/services/app-sockets';
import { eventBus } from '@device-core/plugin-api/inside/services/event-bus';
import { type Apps, apps } from '@device-core/plugin-api/services/apps';
import { device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import type { EventsConfig } from './configuration.ts';
import { EventStreams } from './event-stream.ts';
import { Greeting } from './greeting.ts';
import { Handover, type Subscriptions } from './handover.ts';
import { PublicTopics } from './public-topics.ts';
import { publishOperation } from './publishing.ts';
import { ReadRights } from './read-rights.ts';
import { Resumption } from './resumption.ts';
import { SessionRegistry } from './session-registry.ts';
import { subscribeOperations } from './subscribing.ts';
import { trialOperation } from './trial.ts';

const requires = { operations, eventBus, device };

/** The app sockets may have gone for good since the former run. */
const RESUME_MS = 1_000;

export const plugin = definePlugin<typeof requires, EventsConfig>({
  requires,
  async setup(host, services) {
    const { bus, config, scope, log, capabilities } = host;
    const info = await services.device.info();
    const publics = new PublicTopics(log);
    const rights = new ReadRights(config.areas, capabilities, publics);
    const registry = new SessionRegistry(bus, config, rights, scope, log);
    const take = async (): Promise<Subscriptions> => {
      const sessions = registry.filters();
      return { sessions, seq: (await services.eventBus.stats()).seq };
    };
    const handover = new Handover(info, scope, log);
    registry.changed = () => handover.touch(take);
    const streams = new EventStreams(bus, config, rights, scope);
    const greeting = new Greeting(services.eventBus, registry, rights, log);
    publics.changed = () => {
      registry.refresh();
      streams.refresh();
    };
    let known: Apps | undefined;
    host.when(apps, async (service, whileThere) => {
      greeting.apps = service;
      known = service;
      whileThere.defer('apps', () => {
        greeting.apps = undefined;
        known = undefined;
      });
      await publics.follow(service, whileThere);
    });
    const former = await handover.read();
    const resumption = new Resumption(former, services.eventBus, registry, greeting, log);
    const resumed = Promise.withResolvers<void>();
    host.when(appSockets, async (sockets) => {
      await resumption.resumeAll(sockets);
      resumed.resolve();
    });
    if (Object.keys(former.sessions).length > 0) {
      using _limit = scope.timeout('former sessions', RESUME_MS, resumed.resolve);
      await resumed.promise; // before anybody can publish what they wait for
    }
    const run = info.startedAt.toString(36);
    const rows = [
      publishOperation(services.eventBus, capabilities, run),
      trialOperation(services.eventBus, () => known, run),
      ...subscribeOperations(registry, rights),
      streams.operation(),
    ].map((operation) => scope.use(operation.name, services.operations.add(operation)));
    const stopping = () => {
      // From here on nobody is told that his event was taken: what was taken before is delivered, and the next run of
      // the plugin goes on from here.
      for (const row of rows) row[Symbol.dispose]();
      const last = take();
      registry.changed = () => undefined;
      handover.last = last;
    };
    scope.signal.addEventListener('abort', stopping, { once: true });
    host.tap('session.open', (ready, session) => greeting.extend(ready, session));
    host.tap('health.collect', async (report) => {
      const { published, dropped } = await services.eventBus.stats();
      const lost = Object.entries(dropped).map(([priority, count]) => `${count} ${priority}`);
      const message = `${published} published, lost by slow subscribers: ${lost.join(', ')}; ${registry.size} sessions, ${streams.size} streams`;
      report.add('events', { status: 'okay', message });
    });
  },
});
