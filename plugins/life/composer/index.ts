import { definePlugin, type PluginHost } from '@device-core/plugin-api';
import { pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { device } from '@device-core/plugin-api/services/device';
import { Composer } from './composer.ts';
import { watchSku } from './file-watch.ts';

/** First look after this time at the latest: a plugin that starts after the device became ready gets no event. */
const READY_AT_THE_LATEST_MS = 3_000;

export const plugin = definePlugin({
  requires: { device, pluginManager },
  async setup(host: PluginHost<{ readonly quietMs: number }>, services) {
    const { skuFile, startedAt } = await services.device.info();
    const composer = new Composer(services.pluginManager, host.log);
    host.tap('health.collect', (report) => {
      const { refusal } = composer;
      if (refusal) report.warn(refusal.code, refusal.message);
      const message = skuFile === undefined ? 'the SKU is no file' : (composer.last ?? `watches ${skuFile}`);
      report.add('composer', { status: 'okay', message });
    });
    if (skuFile === undefined) return;
    let watching = false;
    const begin = () => {
      if (watching || host.scope.signal.aborted) return;
      watching = true;
      watchSku(skuFile, host, startedAt, () => composer.apply());
    };
    host.tap('kernel.ready', begin);
    host.scope.timeout('first look', READY_AT_THE_LATEST_MS, begin);
  },
});
