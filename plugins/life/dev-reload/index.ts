import { definePlugin, type PluginHost } from '@device-core/plugin-api';
import { pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { Reloader } from './reloader.ts';

/** First look after this time at the latest: a plugin that starts after the device became ready gets no event. */
const READY_AT_THE_LATEST_MS = 3_000;

export const plugin = definePlugin({
  requires: { pluginManager },
  setup(host: PluginHost<{ readonly quietMs: number }>, services) {
    const reloader = new Reloader(services.pluginManager, host);
    let begun = false;
    const begin = async () => {
      if (begun || host.scope.signal.aborted) return;
      begun = true;
      await reloader.follow();
      // Plugins come and go with the SKU.
      host.bus.subscribe('plugin.changed', () => reloader.follow());
    };
    host.tap('kernel.ready', begin);
    host.scope.timeout('first look', READY_AT_THE_LATEST_MS, begin);
    host.tap('health.collect', (report) => {
      const { stale, watched } = reloader;
      if (stale.length > 0)
        report.warn('RESTART_NEEDED', `${stale.join(', ')} changed on disk: restart the Core to run the new code`);
      report.add('dev-reload', { status: 'okay', message: `watches ${watched.join(', ') || 'no plugin'}` });
    });
  },
});
