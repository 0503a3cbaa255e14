import { definePlugin, type PluginHost } from '@device-core/plugin-api';
import { credentialsOf } from '@device-core/plugin-api/inside/app-spec';
import { appSupervisor } from '@device-core/plugin-api/inside/services/app-supervisor';
import { identity } from '@device-core/plugin-api/inside/services/identity';
import { device } from '@device-core/plugin-api/services/device';
import { hideOutput } from '../shared/hide-output.ts';
import { Credentials } from './credentials.ts';
import { GuestOutput } from './guest-output.ts';
import { Journal } from './journal.ts';
import { loadSocketNames } from './native.ts';
import { Remains } from './remains.ts';
import { SystemBus } from './system-bus.ts';
import { SystemdSupervisor } from './systemd-supervisor.ts';
import { WardenClient } from './warden-client.ts';

interface Config {
  readonly bus: string;
  readonly journal: string;
}

export const plugin = definePlugin({
  requires: { device, identity },
  async setup(host: PluginHost<Config>, services) {
    const { clock, log, scope } = host;
    const { service, paths } = await services.device.info();
    const bus = new SystemBus({ path: host.config.bus, scope, clock, log, back: () => void supervisor.resume() });
    const warden = new WardenClient(`/run/${service}-warden.sock`, scope);
    const remains = new Remains(paths.var, warden);
    const journal = new Journal({ core: `${service}-core.service`, sockets: host.config.journal, scope, clock, log });
    const path = credentialsOf({ service });
    const tokens = { names: await loadSocketNames(), identity: services.identity, path, log };
    let credentials: Credentials | undefined;
    const output = hideOutput(host);
    const supervisor = new SystemdSupervisor({
      warden,
      bus,
      clock,
      scope,
      log,
      remains,
      run: paths.run,
      state: paths.var,
      identity: services.identity,
      output: new GuestOutput(journal, clock, output.hide),
      credentials: () => {
        credentials ??= scope.use('tokens of launches', new Credentials(tokens));
        return credentials;
      },
    });
    // Guests were ended by the plugins that started them; others end with the unit of the Core, or are reported by
    // former().
    host.tap('health.collect', (report) => {
      const { gone } = bus;
      output.tell(report);
      if (gone === undefined) report.add('supervisor-systemd', { status: 'okay' });
      else
        report.add('supervisor-systemd', {
          status: 'error',
          code: 'UNAVAILABLE',
          message: `cannot reach systemd: ${gone}`,
        });
    });
    host.provide(appSupervisor, supervisor);
    scope.timeout('remains of guests', 0, () => remains.sweepQuietly(log));
  },
});
