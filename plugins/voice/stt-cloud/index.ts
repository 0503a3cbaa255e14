import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { definePlugin, device, speech } from '@device-core/plugin-api';
import type { CloudSettings } from './cloud.ts';
import { HttpEngine } from './http.ts';
import { Key } from './key.ts';
import { WebSocketEngine } from './websocket.ts';

interface Settings extends CloudSettings {
  readonly protocol: 'http' | 'websocket';
  readonly languages: readonly string[];
  readonly keyFile?: string;
}

export const plugin = definePlugin<{ device: typeof device; speech: typeof speech }, Settings>({
  requires: { device, speech },
  async setup(host, services) {
    const { scope, config } = host;
    const { paths } = await services.device.info();
    const file = config.keyFile === undefined ? undefined : join(paths.etc, 'secrets', config.keyFile);
    const parts = { name: host.id, scope, settings: config, key: new Key(file, host.id) };
    const streaming = config.protocol === 'websocket';
    const engine = streaming ? new WebSocketEngine(parts) : scope.use('connections', new HttpEngine(parts));
    // To whom it goes stands in the title, and so in the ledger.
    const title = `Transcription at ${new URL(config.endpoint).host}`;
    const description = { id: host.id, title, languages: config.languages, stage: 'cloud', streaming } as const;
    scope.use(`stt engine ${host.id}`, services.speech.register('stt', description, engine, `plugin.${host.id}`));
    host.tap('health.collect', async (report) => {
      const missing =
        file !== undefined &&
        !(await access(file).then(
          () => true,
          () => false,
        ));
      if (missing) {
        const message = `there is no key: put it into secrets/${config.keyFile} (0600)`;
        report.add(host.id, { status: 'waiting', code: 'NOT_INITIALIZED', message });
      } else report.add(host.id, { status: 'okay' });
    });
  },
});
