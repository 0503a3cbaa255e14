import { join } from 'node:path';
import { CoreError, definePlugin, reasonOf } from '@device-core/plugin-api';
import { appStore } from '@device-core/plugin-api/services/app-store';
import { appSupervisor } from '@device-core/plugin-api/services/app-supervisor';
import { apps } from '@device-core/plugin-api/services/apps';
import { type ChangeRequest, type Changes, changes } from '@device-core/plugin-api/services/changes';
import { device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import { consents, prompts } from '@device-core/plugin-api/services/prompts';
import { reportHealth } from './health.ts';
import type { StoreConfig } from './outcome.ts';
import type { Parts } from './parts.ts';
import { PackageStore } from './store.ts';

const requires = { device, apps };

/** What is wrong is told in the health: apps of folders run without a store. The rest of its code is imported when it is asked for. */
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
      ...{ store, apps: services.apps, config, scope, log, optional },
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
    let service: Changes | undefined;
    const changing = async (request: ChangeRequest) => {
      if (service) return service.begin(request);
      throw new CoreError('UNAVAILABLE', {
        what: request.kind,
        reason: 'service changes is missing: enable plugin changes in the SKU',
      });
    };
    const view = () => import('./operations.ts').then((it) => it.storeOperations(parts, changing));
    let made: ReturnType<typeof view> | undefined;
    host.when(operations, async (table, part) => {
      made ??= view();
      for (const operation of (await made).operations) part.use(operation.name, table.add(operation));
    });
    host.when(changes, async (kept, part) => {
      service = kept;
      part.defer('changes', () => {
        service = undefined;
      });
      made ??= view();
      for (const maker of (await made).makers) part.use(maker.kind, kept.serve(maker));
    });
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
      // What expired before it was there.
      void store.sweep();
      part.defer('supervisor', () => void delete optional.supervisor);
    });
  },
});
