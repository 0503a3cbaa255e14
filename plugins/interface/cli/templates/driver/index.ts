import { definePlugin, type PluginHost, spi } from '@device-core/plugin-api';
import { pluginIdService } from './contract.ts';
import { MODE } from './max31855.ts';
import { Thermometer } from './thermometer.ts';

interface Settings {
  readonly endpoint: string;
  readonly cs: number;
  readonly speedHz: number;
  readonly everyMs: number;
}

export const plugin = definePlugin({
  requires: { spi },
  setup(host: PluginHost<Settings>, services) {
    const { endpoint, cs, speedHz, everyMs } = host.config;
    const handle = { name: host.id, endpoint, cs, speed: speedHz, mode: MODE };
    host.scope.use(`SPI handle ${handle.name}`, services.spi.register(handle, `plugin.${host.id}`));
    const thermometer = new Thermometer(services.spi, handle.name, host.log, host.scope.signal);
    host.provide(pluginIdService, thermometer);
    host.tap('health.collect', (report) => report.add(host.id, thermometer.health));
    host.scope.interval('measurement', everyMs, async () => {
      const temperatures = await thermometer.measure();
      if (temperatures) host.bus.publish('plugin.plugin-id.temperature', temperatures, 'low');
    });
  },
});
