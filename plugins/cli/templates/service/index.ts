import { definePlugin, type PluginHost } from '@device-core/plugin-api';
import { Counter } from './counter.ts';
import { pluginIdService } from './plugin-id-service.ts';

interface Settings {
  readonly limit: number;
}

export const plugin = definePlugin({
  setup(host: PluginHost<Settings>) {
    host.provide(pluginIdService, new Counter(host.config.limit));
  },
});
