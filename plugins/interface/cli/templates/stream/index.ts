import { definePlugin } from '@device-core/plugin-api';
import { operations } from '@device-core/plugin-api/services/operations';
import { capitalsStream } from './capitals.ts';

export const plugin = definePlugin({
  requires: { operations },
  setup(host, services) {
    host.scope.use('stream pluginId.capitals', services.operations.addStream(capitalsStream));
  },
});
