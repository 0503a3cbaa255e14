import { existsSync } from 'node:fs';
import { definePlugin, type PluginHost } from '@device-core/plugin-api';
import { coreRestart, machineOf } from '@device-core/plugin-api/inside/core-restart';
import { machine } from '@device-core/plugin-api/inside/services/machine';
import { slots } from '@device-core/plugin-api/inside/services/slots';
import { device } from '@device-core/plugin-api/services/device';
import { FileSlots } from './file-slots.ts';
import { HelperWriter } from './helper-writer.ts';
import { InlineWriter } from './inline-writer.ts';

interface Config {
  readonly helper: 'socket' | 'inline';
  readonly system?: string;
  readonly boot?: string;
  readonly socket?: string;
}

const INLINE = 'slots are written by the Core itself: signatures protect them from the network, not from the Core';

export const plugin = definePlugin({
  requires: { device },
  async setup(host: PluginHost<Config>, services) {
    const { config, scope } = host;
    const { service } = await services.device.info();
    const { helper, system = `/var/lib/${service}-system`, boot = `/run/${service}-boot` } = config;
    const { socket = `/run/${service}-slots.sock` } = config;
    const places = { system, boot };
    const writer = helper === 'inline' ? new InlineWriter(places, scope) : new HelperWriter(socket, scope);
    host.provide(slots, new FileSlots(places, writer));
    host.provide(
      machine,
      machineOf(coreRestart(scope), {
        others: async () => (helper === 'socket' && existsSync(socket) ? ['reboot', 'powerOff'] : []),
        reason: 'no helper of root is here',
        order: (verb, safeMode) => writer.ask({ verb, safeMode }),
      }),
    );
    host.tap('health.collect', (report) => {
      if (helper === 'inline') report.warn('SLOTS_INLINE', INLINE);
      if (helper === 'inline' || existsSync(socket)) report.add('slots-files', { status: 'okay' });
      else
        report.add('slots-files', {
          status: 'error',
          code: 'SLOTS_UNAVAILABLE',
          message: `there is no helper at ${socket}`,
        });
    });
  },
});
