import { appSockets, apps, config, definePlugin, device, operations } from '@device-core/plugin-api';
import { AppNames } from '@device-core/plugin-api/operation-kit';
import { notifyApps } from './notifier.ts';
import { configOperations } from './operations.ts';
import { Problems } from './problems.ts';
import { ConfigStore } from './store.ts';
import { watchFiles } from './watcher.ts';

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
    const store = new ConfigStore({ paths, problems, log: host.log, maxKeys, maxBytes });
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
      store.watch({}, ({ key, source, revision }) => host.bus.publish('config.changed', { key, source, revision })),
    );
    host.when(appSockets, (sockets, scope) => notifyApps(store, sockets, scope, host.log));
    const names = new AppNames();
    host.when(apps, (service, scope) => names.follow(service, scope));
    host.tap('health.collect', (report) => problems.tell(report));
    host.provide(config, {
      get: (scope, key) => store.get(scope, key),
      list: (scope, prefix) => store.list(scope, prefix),
      set: (scope, key, value, options) => store.set(scope, key, value, options),
      watch: (scope, listener) => store.watch(scope, listener),
      describeApp: (app, described) => store.describeApp(app, described),
    });
    for (const operation of configOperations(store, host.capabilities, names)) {
      host.scope.use(`operation ${operation.name}`, services.operations.add(operation));
    }
  },
});
