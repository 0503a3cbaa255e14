import { definePlugin, type PluginHost } from '@device-core/plugin-api';
import { Tally } from './tally.ts';

interface Settings {
  readonly filters: readonly string[];
  readonly everyMs: number;
}

export const plugin = definePlugin({
  setup(host: PluginHost<Settings>) {
    const tally = new Tally();
    host.bus.subscribe(host.config.filters, (event) => tally.add(event));
    host.scope.interval('tally', host.config.everyMs, () => {
      const counts = tally.take();
      if (counts) host.bus.publish('plugin.plugin-id.tally', { counts }, 'low');
    });
  },
});
