import { definePlugin, rounds } from '@device-core/plugin-api';
import { appSockets } from '@device-core/plugin-api/inside/services/app-sockets';
import { grants } from '@device-core/plugin-api/inside/services/grants';
import { identity } from '@device-core/plugin-api/inside/services/identity';
import { AppNames } from '@device-core/plugin-api/operation-kit';
import { apps } from '@device-core/plugin-api/services/apps';
import { device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import { LoopTurns } from '../shared/loop-turns.ts';
import { AppSocketDirectory } from './app-socket-directory.ts';
import { Counters } from './counters.ts';
import { Deadlines } from './deadlines.ts';
import type { RpcConfig } from './limits.ts';
import { MethodTable } from './method-table.ts';
import { ownOperations } from './own-operations.ts';
import { PeerCheck } from './peer-check.ts';
import { ReadyComposer } from './ready.ts';

const requires = { operations, device, grants };

export const plugin = definePlugin<typeof requires, RpcConfig>({
  requires,
  async setup(host, services) {
    const { config, log, scope } = host;
    const info = await services.device.info();
    const counters = new Counters();
    const methods = new MethodTable();
    const peers = new PeerCheck();
    const hook = host.hook('session.open');
    const ready = new ReadyComposer({ device: info, grants: services.grants, hook, config, counters, log });
    scope.use(
      'watch of operations',
      services.operations.watch((list) => methods.replace(list)),
    );
    const doubt = rounds({
      scope,
      label: 'stalled peers',
      ms: Math.max(20, Math.min(1_000, config.stallMs / 4)),
      run: () => directory.checkStalled(),
    });
    const directory = new AppSocketDirectory(info.paths.run, scope, {
      config,
      operations: services.operations,
      methods,
      deadlines: new Deadlines(scope),
      counters,
      log,
      ready,
      peers,
      turns: new LoopTurns(host.clock),
      doubt,
    });

    const names = new AppNames();
    host.when(apps, (service, while_) => names.follow(service, while_));
    for (const operation of ownOperations(directory, names))
      scope.use(`operation ${operation.name}`, services.operations.add(operation));
    host.when(identity, (service, while_) => {
      peers.use(service);
      while_.defer('peer check', () => peers.use(undefined));
      while_.use(
        'revocations',
        service.onRevoked((app) => void directory.cut(app)),
      );
    });
    host.tap('health.collect', (report) => {
      const sessions = `${directory.sessionCount} sessions on ${directory.socketCount} app sockets`;
      const dropped = counters.describe();
      report.add('rpc', { status: 'okay', message: dropped ? `${sessions}; ${dropped}` : sessions });
    });
    for (const { id, name, uid, capabilities } of config.apps) {
      const caller = { kind: 'app', id } as const;
      scope.defer(`grants of ${id}`, () => services.grants.clear(caller));
      await services.grants.set(caller, capabilities);
      await directory.open(uid === undefined ? { id, name } : { id, name, uid });
    }
    host.provide(appSockets, {
      open: (app) => directory.open(app),
      close: (app, reason) => directory.close(app, reason),
      path: (app) => directory.path(app),
      sessions: (app) => directory.sessions(app),
      session: async (id) => directory.session(id),
      call: (app, call) => directory.call(app, call),
      notify: (app, method, params) => directory.notify(app, method, params),
      onSession: (listener) => directory.onSession(listener),
    });
  },
});
