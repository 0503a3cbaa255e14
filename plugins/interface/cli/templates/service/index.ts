import { definePlugin, type PluginHost } from '@device-core/plugin-api';
import { pluginIdService } from './contract.ts';
import { Counter } from './counter.ts';

interface Settings {
  readonly limit: number;
}

export const plugin = definePlugin({
  setup(host: PluginHost<Settings>) {
    host.provide(pluginIdService, new Counter(host.config.limit));
  },
});
