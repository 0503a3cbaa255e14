import { definePlugin } from '@device-core/plugin-api';
import { appSockets } from '@device-core/plugin-api/inside/services/app-sockets';
import { pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { sessions } from '@device-core/plugin-api/inside/services/sessions';
import { AppNames } from '@device-core/plugin-api/operation-kit';
import { apps } from '@device-core/plugin-api/services/apps';
import { config } from '@device-core/plugin-api/services/config';
import { device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import { describeOperations } from './describe-operations.ts';
import { Descriptions } from './descriptions.ts';
import { notifyApps } from './notifier.ts';
import { configOperations } from './operations.ts';
import { PLUGINS, PluginSections } from './plugin-sections.ts';
import { Problems } from './problems.ts';
import { ConfigStore } from './store.ts';
import { watchFiles } from './watcher.ts';
import { Writer } from './writer.ts';

interface Settings {
  readonly maxKeys: number;
  readonly maxBytes: number;
  readonly watch: boolean;
}

export const plugin = definePlugin({
  requires: { device, operations },
  async setup(host, services) {
    const settings = host.config as Settings;
    const { paths } = await services.device.info();
    const problems = new Problems();
    const { maxKeys, maxBytes } = settings;
    const sections: PluginSections = new PluginSections({
      folder: paths.var,
      problems,
      log: host.log,
      overrides: () => store.list({}, PLUGINS),
    });
    const store: ConfigStore = new ConfigStore({
      paths,
      problems,
      log: host.log,
      maxKeys,
      maxBytes,
      refuse: (key, value) => sections.fault(key, value),
      place: (key, value) => sections.place(key, value),
      hides: (key) => sections.isSecret(key),
      onOverride: (app, key, revision) =>
        void host.bus.publish('config.changed', { key, source: 'app', revision, app }),
    });
    await store.load();
    host.scope.defer('settings journals', () => store.close());

    if (settings.watch) {
      watchFiles({
        paths,
        scope: host.scope,
        log: host.log,
        problems,
        onTouched: (path) => store.reload(path),
        onReady: () => store.reloadAll(),
      });
    }
    host.scope.use(
      'config.changed events',
      store.watch({}, ({ key, source, revision }) => {
        host.bus.publish('config.changed', { key, source, revision });
        if (key.startsWith(`${PLUGINS}.`)) void sections.follow();
      }),
    );
    const writer = new Writer(store, sections);
    host.when(pluginManager, async (manager, scope) => {
      scope.defer('settings of plugins', () => sections.unuse());
      await sections.use(manager);
      void sections.follow();
    });
    host.when(sessions, (service, scope) => {
      writer.name(service);
      scope.defer('names of browsers', () => writer.name(undefined));
    });
    host.when(appSockets, (sockets, scope) => notifyApps(store, sockets, scope, host.log));
    const names = new AppNames();
    let titles = async (): Promise<readonly { readonly id: string; readonly title: string }[]> => [];
    host.when(apps, (service, scope) => {
      names.follow(service, scope);
      titles = () => service.list();
      scope.defer('titles of apps', () => {
        titles = async () => [];
      });
    });
    host.tap('health.collect', (report) => problems.tell(report));
    host.provide(config, {
      get: (scope, key) => store.get(scope, key),
      list: (scope, prefix) => store.list(scope, prefix),
      set: writer.set,
      watch: (scope, listener) => store.watch(scope, listener),
      describeApp: (app, described) => store.describeApp(app, described),
      describe: (prefix, keys) => store.describe(prefix, keys),
    });
    const { capabilities } = host;
    const descriptions = new Descriptions(store, sections, () => titles());
    const rows = [
      ...configOperations({
        store,
        capabilities,
        names,
        write: writer.set,
        reset: (scope, key, options) => writer.reset(scope, key, options),
        isSecret: ({ app }, key) => store.schemas.isSecret(app, key) || sections.isSecret(key),
        who: (caller) => writer.who(caller),
      }),
      ...describeOperations(descriptions, capabilities, names, (app) => store.knows(app)),
    ];
    for (const operation of rows) host.scope.use(`operation ${operation.name}`, services.operations.add(operation));
  },
});
