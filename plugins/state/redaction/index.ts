import { definePlugin, type PluginHost } from '@device-core/plugin-api';
import { type RedactionRules, useRedaction } from '@device-core/plugin-api/inside/redact';

export const plugin = definePlugin({
  setup(host: PluginHost<RedactionRules>) {
    host.scope.use('rules of redaction', useRedaction(host.config));
  },
});
