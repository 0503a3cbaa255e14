import { join } from 'node:path';
import { definePlugin, reasonOf } from '@device-core/plugin-api';
import { appStore } from '@device-core/plugin-api/inside/services/app-store';
import { appSupervisor } from '@device-core/plugin-api/inside/services/app-supervisor';
import { consents } from '@device-core/plugin-api/inside/services/consents';
import { apps } from '@device-core/plugin-api/services/apps';
import { device } from '@device-core/plugin-api/services/device';
import { prompts } from '@device-core/plugin-api/services/prompts';
import { offer } from '../shared/package-store/offer.ts';
import { reportHealth } from './health.ts';
import type { StoreConfig } from './outcome.ts';
import type { Parts } from './parts.ts';
import { PackageStore } from './store.ts';

const requires = { device, apps };

/** Faults stand in the health: apps of folders run without a store. The rest of its code is imported when it is asked for. */
export const plugin = definePlugin<typeof requires, StoreConfig>({
  requires,
  async setup(host, services) {
    const { config, log, scope, clock } = host;
    const { paths } = await services.device.info();
    const place = join(paths.var, 'app-store');
    const optional: Parts['optional'] = {};
    const supervisor = () => optional.supervisor;
    const store = new PackageStore({ place, apps: join(paths.var, 'apps'), config, log, clock, supervisor });
    let fault: string | undefined;
    await store.begin().catch((thrown) => {
      fault = `cannot take up the installed apps: ${reasonOf(thrown)}`;
      log.error({ err: thrown }, fault);
    });
    host.tap('health.collect', (report) => reportHealth(report, store, config, fault));
    const parts: Parts = {
      store,
      apps: services.apps,
      config,
      scope,
      log,
      optional,
      device: () => services.device.info(),
      uploads: store.uploads,
      publish(topic, payload) {
        try {
          host.bus.publish(topic, payload);
        } catch (thrown) {
          log.warn({ topic, reason: reasonOf(thrown) }, 'cannot tell what became of an app');
        }
      },
    };
    host.provide(appStore, store);
    offer(host, async (changing) => (await import('./operations.ts')).storeOperations(parts, changing));
    host.when(prompts, (it, part) => {
      optional.prompts = it;
      part.defer('prompts', () => void delete optional.prompts);
    });
    host.when(consents, (it, part) => {
      optional.consents = it;
      part.defer('consents', () => void delete optional.consents);
    });
    host.when(appSupervisor, (it, part) => {
      optional.supervisor = it;
      // Expired before it was there.
      void store.sweep();
      part.defer('supervisor', () => void delete optional.supervisor);
    });
  },
});
