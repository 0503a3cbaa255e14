import { definePlugin } from '@device-core/plugin-api';
import { inputs } from '@device-core/plugin-api/services/input';
import { FOLDERS } from './find.ts';
import { openNode } from './node.ts';
import { type DeviceSettings, EvdevSource } from './source.ts';

interface Settings {
  readonly devices: readonly DeviceSettings[];
}

export const plugin = definePlugin<{ inputs: typeof inputs }, Settings>({
  requires: { inputs },
  async setup(host, services) {
    const { scope, log, config, clock } = host;
    const sources: (readonly [string, EvdevSource])[] = [];
    for (const settings of config.devices) {
      const open = (path: string) => openNode(path, clock);
      const options = { scope, log, inputs: services.inputs, settings, folders: FOLDERS, open };
      sources.push([settings.id, await EvdevSource.start(options)]);
    }
    host.tap('health.collect', (report) => {
      for (const [id, { problem }] of sources)
        report.add(
          `${host.id}.${id}`,
          problem === undefined ? { status: 'okay' } : { status: 'waiting', code: 'NOT_INITIALIZED', message: problem },
        );
    });
  },
});
