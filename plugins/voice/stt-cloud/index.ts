import { join } from 'node:path';
import { definePlugin, type SecretRef } from '@device-core/plugin-api';
import { device } from '@device-core/plugin-api/services/device';
import { secrets } from '@device-core/plugin-api/services/secrets';
import { speech } from '@device-core/plugin-api/services/speech';
import type { CloudSettings } from './cloud.ts';
import { HttpEngine } from './http.ts';
import { Key } from './key.ts';
import { WebSocketEngine } from './websocket.ts';

interface Settings extends CloudSettings {
  readonly protocol: 'http' | 'websocket';
  readonly languages: readonly string[];
  readonly key?: SecretRef;
  readonly keyFile?: string;
}

export const plugin = definePlugin<{ device: typeof device; speech: typeof speech }, Settings>({
  requires: { device, speech },
  async setup(host, services) {
    const { scope, config, log } = host;
    const { paths } = await services.device.info();
    const file = config.keyFile === undefined ? undefined : join(paths.etc, 'secrets', config.keyFile);
    const key = new Key({ engine: host.id, ref: config.key, file });
    host.when(secrets, (service, part) => {
      key.secrets = service;
      part.defer('secrets', () => {
        key.secrets = undefined;
      });
    });
    const parts = { name: host.id, scope, settings: config, key };
    const streaming = config.protocol === 'websocket';
    const engine = streaming ? new WebSocketEngine(parts) : scope.use('connections', new HttpEngine(parts));
    // To whom it goes stands in the title, and so in the ledger.
    const title = `Transcription at ${new URL(config.endpoint).host}`;
    const description = { id: host.id, title, languages: config.languages, stage: 'cloud', streaming } as const;
    scope.use(`stt engine ${host.id}`, services.speech.register('stt', description, engine, `plugin.${host.id}`));
    const instead = `"key: { secret: stt.key }", with "devicectl secret set stt.key < ${file}"`;
    const old = config.keyFile === undefined ? undefined : `plugin ${host.id}: keyFile is old; use ${instead}`;
    if (old !== undefined) log.warn({}, old);
    host.tap('health.collect', async (report) => {
      const message = await key.missing();
      if (message === undefined) report.add(host.id, { status: 'okay' });
      else report.add(host.id, { status: 'waiting', code: 'NOT_INITIALIZED', message });
      if (old !== undefined) report.warn('SETTING_OLD', old);
    });
  },
});
