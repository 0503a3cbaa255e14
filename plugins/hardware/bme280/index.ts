import { definePlugin } from '@device-core/plugin-api';
import { i2c } from '@device-core/plugin-api/services/i2c';
import { sensors } from '@device-core/plugin-api/services/sensors';
import { Chip } from './chip.ts';

interface Settings {
  readonly handle: string;
  readonly name: string;
  readonly oversampling: number;
  readonly leastIntervalMs: number;
}

export const plugin = definePlugin<{ sensors: typeof sensors; i2c: typeof i2c }, Settings>({
  requires: { sensors, i2c },
  setup(host, services) {
    const { handle, name, oversampling, leastIntervalMs } = host.config;
    const chip = new Chip(services.i2c, handle, oversampling, host.clock);
    const round = (value: number) => Math.round(value * 100) / 100;
    const registered = services.sensors.register(
      {
        name,
        title: 'Temperature, pressure and humidity',
        chip: 'BME280',
        quantities: {
          temperature: { unit: 'Cel', min: -40, max: 85 },
          pressure: { unit: 'hPa', min: 300, max: 1_100 },
          humidity: { unit: '%', min: 0, max: 100 },
        },
        leastIntervalMs,
      },
      {
        async read(options) {
          const { temperature, pressure, humidity } = await chip.measure(options);
          const values = { temperature: round(temperature), pressure: round(pressure), humidity: round(humidity) };
          return { at: Date.now(), values };
        },
      },
      `plugin.${host.id}`,
    );
    host.scope.use(`sensor ${name}`, registered);
  },
});
