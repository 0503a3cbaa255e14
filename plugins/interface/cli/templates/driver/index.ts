import { definePlugin, type Scope } from '@device-core/plugin-api';
import { i2c } from '@device-core/plugin-api/services/i2c';
import { sensors } from '@device-core/plugin-api/services/sensors';
import { spi } from '@device-core/plugin-api/services/spi';
import { measure, QUANTITIES, SPI_MODE } from './lps22hb.ts';
import { type Registers, registersOverI2c, registersOverSpi } from './registers.ts';

interface Settings {
  /** One of the two: the schema in the manifest sees to it. */
  readonly i2c?: { readonly endpoint: string; readonly address: number };
  readonly spi?: { readonly endpoint: string; readonly cs: number; readonly speed: number };
  readonly name: string;
  readonly leastIntervalMs: number;
}

export const plugin = definePlugin<{ sensors: typeof sensors }, Settings>({
  requires: { sensors },
  setup(host, services) {
    const { name, leastIntervalMs, i2c: onI2c, spi: onSpi } = host.config;
    const owner = `plugin.${host.id}`;
    // The sensor is there as long as its bus is.
    const offer = (registers: Registers, scope: Scope) => {
      const description = { name, title: 'Temperature and air pressure', chip: 'LPS22HB' };
      const source = {
        read: (options: { readonly signal: AbortSignal }) => measure(name, registers, host.clock, options),
      };
      const sensor = services.sensors.register(
        { ...description, quantities: QUANTITIES, leastIntervalMs },
        source,
        owner,
      );
      scope.use(`sensor ${name}`, sensor);
    };
    if (onI2c)
      host.when(i2c, (bus, scope) => {
        scope.use(`I2C handle ${host.id}`, bus.register({ name: host.id, ...onI2c }, owner));
        offer(registersOverI2c(bus, host.id), scope);
      });
    if (onSpi)
      host.when(spi, (bus, scope) => {
        scope.use(`SPI handle ${host.id}`, bus.register({ name: host.id, mode: SPI_MODE, ...onSpi }, owner));
        offer(registersOverSpi(bus, host.id), scope);
      });
  },
});
