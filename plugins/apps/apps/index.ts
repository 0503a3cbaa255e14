import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterQuiet, type callerName, definePlugin, type PluginHost, reasonOf } from '@device-core/plugin-api';
import { makeFolder } from '@device-core/plugin-api/durable';
import { appSockets } from '@device-core/plugin-api/inside/services/app-sockets';
import { appStore } from '@device-core/plugin-api/inside/services/app-store';
import { appSupervisor } from '@device-core/plugin-api/inside/services/app-supervisor';
import { consents } from '@device-core/plugin-api/inside/services/consents';
import { egress } from '@device-core/plugin-api/inside/services/egress';
import { grants } from '@device-core/plugin-api/inside/services/grants';
import { httpServer } from '@device-core/plugin-api/inside/services/http-server';
import { identity } from '@device-core/plugin-api/inside/services/identity';
import { pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { apps, stateText } from '@device-core/plugin-api/services/apps';
import { config } from '@device-core/plugin-api/services/config';
import { type DeviceInfo, device } from '@device-core/plugin-api/services/device';
import { functions } from '@device-core/plugin-api/services/functions';
import { type Operation, operations } from '@device-core/plugin-api/services/operations';
import { prompts } from '@device-core/plugin-api/services/prompts';
import { metrics } from '@device-core/plugin-api/telemetry';
import { type Catalog, MANIFEST } from './app-catalog.ts';
import { AppConsents } from './app-consents.ts';
import type { AppContext, AppsConfig } from './app-context.ts';
import { healthOf } from './app-health.ts';
import { AppManifestReader } from './app-manifest.ts';
import { AppMeter } from './app-meter.ts';
import { appOperations } from './app-operations.ts';
import { shareSocket, unshareSocket } from './app-sandbox.ts';
import { AppSearch } from './app-search.ts';
import { appSource } from './app-source.ts';
import { describeOperation } from './describe-operation.ts';
import { diffOperation } from './diff-operation.ts';
import { doctorOperation, enforcementHealth } from './doctor.ts';
import { grantOperations } from './grant-operations.ts';
import { LastGoodManifests } from './last-good.ts';
import { logOperation } from './log-operation.ts';
import { reportingOperations } from './reporting-operations.ts';
import { sandboxOperation } from './sandbox-operation.ts';
import { StoredAppList } from './stored-apps.ts';
import { Supervisor } from './supervisor.ts';
import { TriedApps } from './tried-apps.ts';
import { tryOperations } from './try-operations.ts';
import { usageOperations } from './usage-operations.ts';
import { useOperation } from './use-operations.ts';

const CORE = fileURLToPath(new URL('../../../', import.meta.url));
/** Apps register one function after the other. */
const LOOK_MS = 50;
/**
 * Apps start after this time at the latest: a device may not become ready, or have become so before this plugin
 * started.
 */
const READY_AT_THE_LATEST_MS = 5_000;

export const plugin = definePlugin({
  requires: { device, grants, appSupervisor, pluginManager, identity, appSockets, operations },
  async setup(host: PluginHost<AppsConfig>, services) {
    const info = await services.device.info();
    const former = await services.appSupervisor.former();
    await Promise.all(former.map(({ run }) => services.appSupervisor.stop(run, 0)));
    const names = former.map(({ name }) => name);
    if (former.length > 0) host.log.warn({ apps: names }, 'apps of a former Core were still running and were ended');

    const context: AppContext = {
      ...services,
      device: info,
      scope: host.scope,
      log: host.log,
      config: host.config,
      stored: new StoredAppList(),
      consents: new AppConsents(host.log),
      optional: {},
    };
    // After the apps, which see it until they end.
    host.scope.defer('shared socket', () => unshareSocket(info.paths.run));
    let ready = false;
    const { search, tried } = await searchFor(host, info, context.stored, (catalog) =>
      supervisor.adopt(catalog, ready),
    );
    const supervisor = new Supervisor({
      context,
      inspect: (folder) => search.inspect(folder),
      refresh: () => search.look(),
      listenerFailed: (thrown) => host.log.error({ reason: reasonOf(thrown) }, 'a listener of app states failed'),
      publish(event, said) {
        const troubled = event.state === 'backoff' || event.state === 'failed' || event.state === 'quarantined';
        host.log[troubled ? 'warn' : 'info'](
          event,
          `app ${event.app} ${stateText(event.state)}${troubled && said ? `: ${said}` : ''}`,
        );
        try {
          host.bus.publish('app.state', event);
        } catch (thrown) {
          host.log.warn({ ...event, reason: reasonOf(thrown) }, 'cannot publish the state of an app');
        }
      },
    });
    const meter = new AppMeter({
      scope: host.scope,
      log: host.log,
      supervisor: services.appSupervisor,
      apps: () => supervisor.all(),
      storage: host.config.fullStorage,
      publish(event) {
        const level = event.state === 'over' ? 'warn' : 'info';
        host.log[level](event, `app ${event.app}: ${event.budget} is ${event.state} its budget`);
        try {
          host.bus.publish('app.budget', event);
        } catch (thrown) {
          host.log.warn({ ...event, reason: reasonOf(thrown) }, 'cannot publish the budget of an app');
        }
      },
    });
    const metered = supervisor.onChange(({ id }) => {
      const app = supervisor.all().find(({ manifest }) => manifest.id === id);
      if (app) meter.changed(app);
    });
    host.scope.use('usage of apps', metered);
    host.scope.use(
      'sessions',
      services.appSockets.onSession((event) => supervisor.session(event)),
    );
    useOptionalServices(host, context, supervisor);
    followStore(host, context.stored, search);
    followConsents(host, context, supervisor);
    context.consents.followTrials((app) => tried.consentsOf(app));

    const mayAdminister = ({ caller }: { caller: Parameters<typeof callerName>[0] }) =>
      host.capabilities.holds(caller, 'system.apps');
    for (const operation of [
      ...appOperations(supervisor, mayAdminister),
      ...grantOperations(supervisor, context),
      describeOperation(supervisor, context, tried, mayAdminister) as Operation<never, unknown>,
      diffOperation(supervisor, context) as Operation<never, unknown>,
      ...reportingOperations(supervisor, host.log, host.clock),
      ...tryOperations({ tried, supervisor, context, developer: host.config.developer }),
      useOperation(services.grants, (id) => supervisor.find(id), mayAdminister) as Operation<never, unknown>,
      ...usageOperations(supervisor, meter),
      logOperation(supervisor, services.appSupervisor),
      sandboxOperation(supervisor, services.appSupervisor, () => context.device.paths.run) as Operation<never, unknown>,
      doctorOperation(services.appSupervisor, host.config.demand, host.config.insecure),
    ])
      host.scope.use(`operation ${operation.name}`, services.operations.add(operation));
    host.tap('health.collect', async (report) => {
      await enforcementHealth(report, services.appSupervisor, host.config.demand, host.config.insecure);
      for (const { id } of tried.apps)
        report.warn('APP_TRIED', `app ${id} is tried, without a signature; "devicectl app forget ${id}" ends it`);
      for (const app of supervisor.all()) report.add(`app.${app.manifest.name}`, healthOf(app));
      for (const { id, error } of supervisor.bad)
        report.add(`app.${id}`, { status: 'error', code: error.code, message: error.message });
    });
    host.bus.subscribe('plugin.changed', async ({ payload }) => {
      if (!(payload as { readonly device?: boolean }).device) return;
      context.device = await services.device.info();
      await supervisor.regrant();
    });
    host.provide(apps, supervisor);
    // Registered last of what an app leans on, so that apps are the first to go.
    host.scope.defer('apps', () => supervisor.stopAll('the device stops it'));
    const begin = async () => {
      if (ready || host.scope.signal.aborted) return;
      ready = true;
      await supervisor.autostart();
    };
    await findApps(host, search, begin, services.pluginManager);
  },
});

function useOptionalServices(host: PluginHost<AppsConfig>, context: AppContext, supervisor: Supervisor): void {
  const { optional } = context;
  const describe = async () => {
    await Promise.all(supervisor.all().map((app) => app.describe()));
  };
  host.when(config, async (service, scope) => {
    optional.config = service;
    scope.defer('config', () => void delete optional.config);
    await describe();
  });
  host.when(functions, async (service, scope) => {
    optional.functions = service;
    scope.defer('functions', () => void delete optional.functions);
    const look = afterQuiet({
      scope,
      label: () => 'functions of apps',
      ms: LOOK_MS,
      run: async () => void (await Promise.all(supervisor.all().map((app) => app.lookForFunctions()))),
    });
    scope.use(
      'function listener',
      service.onChange(() => look()),
    );
    await describe();
  });
  host.when(metrics, async (service, scope) => {
    scope.use('metrics', await service.register(appSource(() => supervisor.all())));
  });
  host.when(egress, async (service, scope) => {
    optional.egress = service;
    scope.defer('egress', () => void delete optional.egress);
    await Promise.all(supervisor.all().map((app) => app.openWayOut()));
  });
  host.when(httpServer, async (service, scope) => {
    optional.http = service;
    scope.defer('http', () => void delete optional.http);
    // Apps that run on see the new socket in the folder that is shown to them.
    const socket = (await service.addresses()).find((address) => address.startsWith('unix:'));
    if (socket !== undefined) await shareSocket(socket.slice('unix:'.length), context.device.paths.run);
    // It was made while everything ended.
    if (host.scope.signal.aborted) await unshareSocket(context.device.paths.run);
  });
}

/** Kept and new answers: an app starts again when one changes its grants. */
function followConsents(host: PluginHost<AppsConfig>, { consents: answers }: AppContext, supervisor: Supervisor): void {
  const regrant = (app?: string) =>
    supervisor.regrant(app).catch((thrown) => host.log.error({ reason: reasonOf(thrown) }, 'cannot take new grants'));
  host.when(consents, async (service, scope) => {
    await answers.followConsents(service);
    scope.defer('kept answers', () => answers.followConsents(undefined));
    scope.use(
      'answer listener',
      service.onChange((app) => void regrant(app)),
    );
    // Not awaited: it may start apps, which takes as long as they do.
    void regrant();
  });
  host.when(prompts, (service, scope) => {
    answers.followPrompts(service);
    scope.defer('questions', () => answers.followPrompts(undefined));
  });
}

/** Its last word holds while it restarts: apps that run go on. */
function followStore(host: PluginHost<AppsConfig>, stored: StoredAppList, search: AppSearch): void {
  host.when(appStore, async (service, scope) => {
    stored.follow(service);
    scope.defer('store of apps', () => stored.follow(undefined));
    scope.use(
      'store listener',
      service.onChange(() => void search.look()),
    );
    await search.look();
  });
}

async function searchFor(
  host: PluginHost<AppsConfig>,
  { core, paths, startedAt }: DeviceInfo,
  stored: StoredAppList,
  adopt: (catalog: Catalog) => Promise<void>,
): Promise<{ readonly search: AppSearch; readonly tried: TriedApps }> {
  const installed = join(paths.var, 'apps');
  const folders = host.config.folders.map((folder) => resolve(CORE, folder));
  await makeFolder(installed, 0o711);
  const reader = await AppManifestReader.load(core.version, host.config);
  const directory = join(paths.var, 'app-manifests');
  const { clock, log, scope } = host;
  const lastGood = await LastGoodManifests.open({ directory, reader, clock, log });
  // The author knows the file by its name in their folder, not by the place to which it was unpacked.
  const check = async (file: string) => (await reader.read(file, MANIFEST)).manifest;
  const tried = await TriedApps.open({ state: paths.var, run: startedAt, clock, check });
  host.tap('health.collect', (report) => {
    for (const { code, message } of [...lastGood.newer, ...tried.newer]) report.warn(code, message);
  });
  return { tried, search: new AppSearch({ folders, installed, reader, lastGood, stored, tried, scope, log, adopt }) };
}

/** Starts what is there once the device is ready, and what comes from then on. */
async function findApps(
  host: PluginHost<AppsConfig>,
  search: AppSearch,
  begin: () => Promise<void>,
  plugins: { list(): Promise<readonly { readonly id: string; readonly generation: number }[]> },
): Promise<void> {
  await search.scan();
  // Not awaited by the device: apps that take long to start do not hold up its readiness.
  host.tap('kernel.ready', () => void host.scope.timeout('autostart', 0, begin));
  const self = (await plugins.list()).find(({ id }) => id === host.id);
  const again = self !== undefined && self.generation > 1;
  host.scope.timeout('autostart', again ? 0 : READY_AT_THE_LATEST_MS, begin);
  if (host.config.watch) search.watch();
}
