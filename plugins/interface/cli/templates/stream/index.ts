import { definePlugin, operations } from '@device-core/plugin-api';
import { capitalsStream } from './capitals.ts';

export const plugin = definePlugin({
  requires: { operations },
  setup(host, services) {
    host.scope.use('stream pluginId.capitals', services.operations.addStream(capitalsStream));
  },
});
