import { definePlugin, operations, type PluginHost } from '@device-core/plugin-api';
import { greetOperation } from './greeting.ts';

interface Settings {
  readonly greeting: string;
}

export const plugin = definePlugin({
  requires: { operations },
  setup(host: PluginHost<Settings>, services) {
    host.scope.use('operation pluginId.greet', services.operations.add(greetOperation(host.config.greeting)));
  },
});
