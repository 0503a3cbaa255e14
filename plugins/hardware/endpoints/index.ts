import { definePlugin } from '@device-core/plugin-api';
import { endpoints } from '@device-core/plugin-api/services/endpoints';
import { Hub } from './hub.ts';

export const plugin = definePlugin({
  setup(host) {
    const hub = new Hub(host.log);
    host.provide(endpoints, hub);
    host.tap('health.collect', (report) => {
      const { refused } = hub;
      if (refused.length === 0) return report.add('endpoints', { status: 'okay' });
      const message = `another source has an endpoint of this name: ${refused.join(', ')}`;
      report.add('endpoints', { status: 'error', code: 'ENDPOINT_EXISTS', message });
    });
  },
});
