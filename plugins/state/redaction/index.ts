import { definePlugin, type PluginHost, type RedactionRules, useRedaction } from '@device-core/plugin-api';

export const plugin = definePlugin({
  setup(host: PluginHost<RedactionRules>) {
    host.scope.use('rules of redaction', useRedaction(host.config));
  },
});
