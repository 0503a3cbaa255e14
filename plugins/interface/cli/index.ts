import { definePlugin } from '@device-core/plugin-api';
import { httpServer } from '@device-core/plugin-api/inside/services/http-server';
import { device } from '@device-core/plugin-api/services/device';
import { Launcher } from './launcher.ts';

interface CliConfig {
  readonly launcher: boolean;
}

/** `devicectl` itself is a process of its own (program/devicectl.ts); the plugin only puts a launcher where this Core's sockets are. */
export const plugin = definePlugin<{ device: typeof device }, CliConfig>({
  requires: { device },
  async setup(host, services) {
    if (!host.config.launcher) return;
    const { paths } = await services.device.info();
    const launcher = await Launcher.write(paths.run, host.scope);
    host.scope.use('launcher', launcher);
    host.tap('health.collect', (report) => {
      const { trouble } = launcher;
      if (!trouble) return;
      const message = `there is no launcher of devicectl: ${trouble.message}`;
      report.add('cli', { status: 'error', code: trouble.code, message });
    });
    host.when(httpServer, async (server) => launcher.pointAt(await server.addresses()));
  },
});
