import { definePlugin } from '@device-core/plugin-api';
import { appSockets } from '@device-core/plugin-api/inside/services/app-sockets';
import { AppNames } from '@device-core/plugin-api/operation-kit';
import { apps } from '@device-core/plugin-api/services/apps';
import { device } from '@device-core/plugin-api/services/device';
import { functions } from '@device-core/plugin-api/services/functions';
import { operations } from '@device-core/plugin-api/services/operations';
import { Tracer, traces } from '@device-core/plugin-api/tracing';
import { Calls } from './calls.ts';
import { explain } from './left-out.ts';
import { functionOperations } from './operations.ts';
import { Presence } from './presence.ts';
import { Registry } from './registry.ts';
import { functionService, specificationsOf } from './service.ts';
import { Snapshot } from './snapshot.ts';

export const plugin = definePlugin({
  requires: { device, operations },
  async setup(host, services) {
    const { maxPerApp } = host.config as { readonly maxPerApp: number };
    const registry = new Registry(maxPerApp);
    const presence = new Presence(host.scope);
    const sessions = new Map<string, string>();
    const policy = host.hook('function.register');
    let restored = false;
    const tracer = new Tracer(host.clock);
    host.when(traces, (service, scope) => tracer.use(service, scope));
    const calls = new Calls({
      registry,
      presence,
      capabilities: host.capabilities,
      policy: host.hook('function.call'),
      tracer,
      sessionOf: (id) => sessions.get(id),
    });
    const service = functionService({
      registry,
      presence,
      calls,
      capabilities: host.capabilities,
      sessions,
      // A restored registration was accepted before, and apps do not hear of it.
      refusal: async (registration) => (restored && policy.isUsed() ? policy.promise(registration) : undefined),
      log: host.log,
    });

    const snapshot = new Snapshot(await services.device.info(), host.scope, host.log, () => specificationsOf(registry));
    for (const specification of await snapshot.read()) {
      // One that cannot be restored takes no other along.
      await service.offer(specification);
    }
    restored = true;
    host.scope.use(
      'snapshot listener',
      service.onChange(() => snapshot.touch()),
    );
    host.when(appSockets, (sockets, scope) => presence.attach(sockets, scope));
    const names = new AppNames();
    host.when(apps, (service, scope) => names.follow(service, scope));
    host.tap('health.collect', async (report) => {
      const [first, ...others] = await service.leftOut();
      if (first)
        report.warn(
          'FUNCTIONS_LEFT_OUT',
          `${others.length + 1} functions of apps cannot be called; ${first.name} of ${first.app}: ${explain(first)}`,
        );
      const status = presence.sockets ? ('okay' as const) : ('waiting' as const);
      report.add('functions', { status, message: `${registry.list().length} functions of ${registry.apps} apps` });
    });
    host.provide(functions, service);
    for (const operation of functionOperations(service, host.capabilities, names)) {
      host.scope.use(`operation ${operation.name}`, services.operations.add(operation));
    }
  },
});
