import { join } from 'node:path';
import { definePlugin, maybe, type PluginHost } from '@device-core/plugin-api';
import { credentialsOf } from '@device-core/plugin-api/inside/app-spec';
import { appSupervisor } from '@device-core/plugin-api/inside/services/app-supervisor';
import { identity } from '@device-core/plugin-api/inside/services/identity';
import { type PluginManager, pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { pluginUnits } from '@device-core/plugin-api/inside/services/plugin-units';
import { processes } from '@device-core/plugin-api/inside/services/processes';
import { device } from '@device-core/plugin-api/services/device';
import { hideOutput } from '../shared/hide-output.ts';
import { Credentials } from './credentials.ts';
import { endFormer } from './former-plugins.ts';
import { GuestOutput } from './guest-output.ts';
import { Journal } from './journal.ts';
import { loadSocketNames } from './native.ts';
import { PluginUnitMaker } from './plugin-units.ts';
import { PluginUsers } from './plugin-users.ts';
import { Remains } from './remains.ts';
import { SystemBus } from './system-bus.ts';
import { SystemdSupervisor } from './systemd-supervisor.ts';
import { WardenClient } from './warden-client.ts';

interface Config {
  readonly bus: string;
  readonly pluginUnits: 'prefer' | 'require';
  readonly journal: string;
}

export const plugin = definePlugin({
  requires: { device, identity, processes },
  async setup(host: PluginHost<Config>, services) {
    const { clock, log, scope } = host;
    const { service, paths } = await services.device.info();
    const back = () => Promise.all([apps.resume(), plugins.resume()]);
    const bus = new SystemBus({ path: host.config.bus, scope, clock, log, back: () => void back() });
    const warden = new WardenClient(`/run/${service}-warden.sock`, scope);
    const remains = new Remains(paths.var, warden);
    const journal = new Journal({ core: `${service}-core.service`, sockets: host.config.journal, scope, clock, log });
    const path = credentialsOf({ service });
    const tokens = { names: await loadSocketNames(), identity: services.identity, path, log };
    let credentials: Credentials | undefined;
    const output = hideOutput(host);
    const { var: state, run } = paths;
    const common = { warden, bus, clock, scope, log, remains, run, state };
    const guests = () => new GuestOutput(journal, clock, output.hide);
    const apps = new SystemdSupervisor({
      ...common,
      kind: 'app',
      launched: ({ id, uid }) => services.identity.launched({ app: id, ...maybe({ uid }) }),
      output: guests(),
      credentials: () => {
        credentials ??= scope.use('tokens of launches', new Credentials(tokens));
        return credentials;
      },
    });
    const plugins = new SystemdSupervisor({
      ...common,
      kind: 'plugin',
      launched: ({ id, uid }) => services.processes.add({ kind: 'plugin', id }, maybe({ uid })),
      output: guests(),
    });
    let users: Promise<PluginUsers> | undefined;
    let manager: PluginManager | undefined;
    host.when(pluginManager, (found, part) => {
      manager = found;
      part.defer('plugins and their levels', () => {
        manager = undefined;
      });
    });
    const units = new PluginUnitMaker({
      supervisor: plugins,
      users: () => {
        users ??= PluginUsers.open(join(state, 'supervisor-systemd/users.json'), scope, log);
        return users;
      },
      processes: services.processes,
      identity: services.identity,
      copy: tokens.names.copy,
      place: { service, run, state },
      swept: endFormer(plugins, log),
      required: host.config.pluginUnits === 'require',
      active: async () =>
        ((await manager?.list()) ?? [])
          .filter(({ isolation, state: now }) => isolation === 'process' && now === 'active')
          .map(({ id }) => id),
      scope,
      log,
    });
    // Guests were ended by the plugins that started them; others end with the unit of the Core, or are reported by
    // former().
    host.tap('health.collect', async (report) => {
      const { gone } = bus;
      output.tell(report);
      const running = Object.values(await units.list());
      const message = running.length === 0 ? undefined : `units of plugins: ${running.sort().join(', ')}`;
      if (gone === undefined) report.add('supervisor-systemd', { status: 'okay', ...maybe({ message }) });
      else
        report.add('supervisor-systemd', {
          status: 'error',
          code: 'UNAVAILABLE',
          message: `cannot reach systemd: ${gone}`,
        });
      await units.tell(report);
      (await users)?.tell(report);
    });
    host.provide(appSupervisor, apps);
    host.provide(pluginUnits, units);
    scope.timeout('remains of guests', 0, () => remains.sweepQuietly(log));
  },
});
