import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreError, definePlugin } from '@device-core/plugin-api';
import { KeptFile } from '@device-core/plugin-api/durable';
import { changes } from '@device-core/plugin-api/inside/services/changes';
import { machine } from '@device-core/plugin-api/inside/services/machine';
import { pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { slots } from '@device-core/plugin-api/inside/services/slots';
import { type UpdateTold, updates } from '@device-core/plugin-api/inside/services/updates';
import { apps } from '@device-core/plugin-api/services/apps';
import { device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import { prompts } from '@device-core/plugin-api/services/prompts';
import type { UpdaterConfig } from './configuration.ts';
import { History } from './history.ts';
import { Journal } from './journal.ts';
import { Leases } from './leases.ts';
import type { Packages } from './packages.ts';
import type { Parts } from './parts.ts';
import { FORM } from './record.ts';
import type { PackageSource } from './repository.ts';
import { Senses } from './senses.ts';
import type { Updater } from './updater.ts';

const requires = { device, 'plugin-manager': pluginManager };
const GONE = ['stopped', 'failed', 'quarantined'];

/** The updater is imported at the first request, or when the slots are there. */
export const plugin = definePlugin<typeof requires, UpdaterConfig>({
  requires,
  async setup(host, services) {
    const { config, log, scope, clock } = host;
    const info = await services.device.info();
    const folder = join(info.paths.var, 'update');
    // Packages that were fetched and not installed are fetched again.
    await rm(join(folder, 'packages'), { recursive: true, force: true }).catch((err) =>
      log.warn({ err }, 'cannot remove packages that were not installed'),
    );
    const kept = await KeptFile.open(join(folder, 'state.json'), FORM, scope, log);
    const history = new History(join(folder, 'history.jsonl'), log);
    const leases = new Leases(clock);
    const publish = (told: UpdateTold): void => {
      try {
        host.bus.publish('update.state', told);
      } catch (err) {
        log.warn({ err }, 'cannot tell the state of the update: the event was refused');
      }
    };
    const journal = new Journal(kept, history, clock, publish);
    let updater: Promise<Updater> | undefined;
    let source: Promise<PackageSource> | undefined;
    let fetched: Promise<Packages> | undefined;
    const wake = (): void => {
      void updater?.then((it) => it.wake());
      void fetched?.then((it) => it.wake());
    };
    const parts: Parts = {
      config,
      scope,
      clock,
      log,
      folder,
      device: info,
      journal,
      history,
      leases,
      senses: new Senses(host.bus, wake),
      manager: services['plugin-manager'],
      services: {},
      trust: {},
      judge: host.hook('update.judge'),
      repository: async () => {
        const { url } = config;
        if (url !== undefined) source ??= import('./configured.ts').then((it) => it.repositoryOf(parts, url));
        return source;
      },
    };
    const whole = (): Promise<Updater> => {
      updater ??= import('./updater.ts').then((it) => new it.Updater(parts));
      return updater;
    };
    const packages = (): Promise<Packages> => {
      fetched ??= import('./packages.ts').then((it) => new it.Packages(parts));
      return fetched;
    };
    const forget = (holder: string): void => {
      if (leases.forget(holder)) wake();
    };
    host.bus.subscribe('app.removed', ({ payload }) => forget(`app.${(payload as { readonly id: string }).id}`));
    host.bus.subscribe('app.state', ({ payload }) => {
      const { app, state } = payload as { readonly app: string; readonly state: string };
      if (GONE.includes(state)) forget(`app.${app}`);
    });
    host.provide(updates, {
      state: async () => journal.told,
      inhibit: async (holder, reason, ms) => leases.take(holder, reason, ms),
      async release(id) {
        if (leases.release(id)) wake();
      },
    });
    host.tap('health.collect', async (report) => {
      kept.tell(report, 'updater.state');
      const { state, reason, version } = journal.told;
      const { alarm } = parts.trust;
      if (alarm) report.warn(alarm.code, `updates: ${alarm.message}`);
      if (history.trouble !== undefined) report.warn('STATE_UNWRITABLE', `history of updates: ${history.trouble}`);
      const about = [state, version, reason].filter((part) => part !== undefined).join(' ');
      report.add('updater', { status: state === 'failed' ? 'blocked' : 'okay', message: about });
    });
    host.when(operations, async (table, part) => {
      parts.services.operations = table;
      part.defer('operations', () => void delete parts.services.operations);
      const { updateOperations } = await import('./operations.ts');
      for (const operation of updateOperations(parts, whole, host.capabilities))
        part.use(operation.name, table.add(operation));
      const { packageOperations } = await import('./package-operations.ts');
      for (const operation of packageOperations(parts, packages)) part.use(operation.name, table.add(operation));
    });
    host.when(changes, async (it, part) => {
      parts.services.changes = it;
      part.defer('changes', () => void delete parts.services.changes);
      const { packageMakers } = await import('./package-operations.ts');
      for (const maker of packageMakers(packages)) part.use(maker.kind, it.serve(maker));
    });
    host.when(apps, (it, part) => {
      parts.services.apps = it;
      part.defer('apps', () => void delete parts.services.apps);
    });
    host.when(prompts, (it, part) => {
      parts.services.prompts = it;
      part.defer('prompts', () => void delete parts.services.prompts);
      wake();
    });
    host.when(machine, (it, part) => {
      parts.services.machine = it;
      part.defer('machine', () => void delete parts.services.machine);
    });
    let ready = false;
    // A checkout has nothing to take up, and needs none of its code.
    const take = async (): Promise<void> => {
      const { provider } = (await parts.services.slots?.status()) ?? { provider: 'none' };
      if (provider !== 'none') await (await whole()).begin();
    };
    const begin = (): void => {
      if (ready && parts.services.slots) void take().catch((err) => log.error({ err }, 'cannot take the update up'));
    };
    host.when(slots, (it, part) => {
      parts.services.slots = it;
      part.defer('slots', () => void delete parts.services.slots);
      begin();
    });
    // The gate judges after all plugins had their chance to start.
    host.tap('kernel.ready', () => {
      ready = true;
      begin();
    });
    if (kept.newer)
      log.warn({ err: new CoreError('STATE_NEWER', kept.newer.details) }, 'the update is left to the newer Core');
  },
});
