import { createHmac } from 'node:crypto';
import { definePlugin, type PluginHost, type SecretRef } from '@device-core/plugin-api';
import { flags } from '@device-core/plugin-api/services/flags';
import { operations } from '@device-core/plugin-api/services/operations';
import { type Secrets, secrets } from '@device-core/plugin-api/services/secrets';
import { Meter, metrics } from '@device-core/plugin-api/telemetry';
import { greetOperation } from './greeting.ts';

interface Settings {
  readonly greeting: string;
  readonly signWith?: SecretRef;
}

const FLAG = 'plugin-id-short';

export const plugin = definePlugin({
  requires: { operations },
  setup(host: PluginHost<Settings>, services) {
    const { greeting, signWith } = host.config;
    // A metric: counted here, fetched when somebody looks.
    const meter = new Meter();
    const greetings = meter.counter('device.plugin_id.greetings', {
      unit: '{greeting}',
      description: 'Greetings that were said',
      level: 'usage',
      why: 'Shows whether anybody is greeted',
    });
    host.when(metrics, async (service, scope) => {
      scope.use('metrics', await service.register(meter));
    });
    // A flag: declared in plugin.yaml, set by the operator.
    let short = false;
    const change = (value: unknown): void => {
      short = value === true;
    };
    host.when(flags, async (service, scope) => {
      scope.use(FLAG, await service.watch(FLAG, change));
    });
    // A secret: the configuration has its name, the text is asked for when it is used.
    let keys: Secrets | undefined;
    host.when(secrets, (service) => {
      keys = service;
    });
    const sign = async (text: string): Promise<string | undefined> => {
      if (!signWith || !keys) return undefined;
      const key = await keys.get(signWith);
      const hmac = createHmac('sha256', await key.reveal());
      return hmac.update(text).digest('hex');
    };
    const words = { greeting, short: () => short, greeted: () => greetings.add(1), sign };
    host.scope.use('operation pluginId.greet', services.operations.add(greetOperation(words)));
  },
});
