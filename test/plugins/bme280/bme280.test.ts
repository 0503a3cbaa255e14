import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { Calibration } from '../../../plugins/hardware/bme280/calibration.ts';
import { eventually, startBuses } from '../../fixtures/bus-core.ts';
import { pace } from '../../fixtures/eventually.ts';

after(leakCheck());

interface Climate {
  readonly values: { readonly temperature: number; readonly pressure: number; readonly humidity: number };
}

const start = () =>
  startBuses({
    i2c: { version: '^1.0.0', config: { handles: [{ name: 'climate', endpoint: 'i2c0', address: 0x76 }] } },
    sensors: '^1.0.0',
    bme280: { version: '^1.0.0', config: { handle: 'climate', leastIntervalMs: 10 } },
  });

describe('bme280', () => {
  it('finds what the worked example of the data sheet finds', () => {
    const first = new DataView(new ArrayBuffer(26));
    const words = [27_504, 26_435, -1_000, 36_477, -10_685, 3_024, 2_855, 140, -7, 15_500, -14_600, 6_000];
    words.forEach((word, index) => {
      first.setUint16(2 * index, word & 0xffff, true);
    });
    const calibration = new Calibration(new Uint8Array(first.buffer), new Uint8Array(7));
    const { temperature, pressure } = calibration.climate({ temperature: 519_888, pressure: 415_148, humidity: 0 });
    assert.equal(temperature.toFixed(2), '25.08');
    assert.equal((pressure * 100).toFixed(0), '100653');
  });

  it('reads what the simulated chip senses, over its whole range', async () => {
    await using device = await start();
    for (const [temperature, pressure, humidity] of [
      [21.5, 1_013.25, 45],
      [-40, 300, 5],
      [85, 1_100, 100],
      [0, 700, 0],
    ] as const) {
      await device.sim.ask({ chip: { endpoint: 'i2c0', address: 0x76, change: { temperature, pressure, humidity } } });
      await pace(20);
      const { values } = await device.call<Climate>('sensors.read', { name: 'environment' });
      assert.ok(Math.abs(values.temperature - temperature) <= 0.02, `${values.temperature} for ${temperature}`);
      assert.ok(Math.abs(values.pressure - pressure) <= 0.1, `${values.pressure} for ${pressure}`);
      assert.ok(Math.abs(values.humidity - humidity) <= 0.2, `${values.humidity} for ${humidity}`);
    }
  });

  it('goes on where the bus gets stuck in a reading: its registers may be asked and set twice', async () => {
    await using device = await start();
    await device.call('sensors.read', { name: 'environment' });
    await pace(20);
    await device.sim.ask({ stick: { endpoint: 'i2c0', recoveries: 1, later: true } });
    await device.call('sensors.read', { name: 'environment' });
  });

  it('is named in health while the chip is away or is another one, and comes back by itself', async () => {
    await using device = await start();
    const read = () => device.call<Climate>('sensors.read', { name: 'environment' });
    await read();
    const away = async (reason: RegExp) => {
      const error = await eventually('a failure', () =>
        read().then(
          () => undefined,
          (thrown) => thrown,
        ),
      );
      assert.equal(error.code, 'SENSOR_FAILED');
      assert.match(error.message, reason);
      assert.equal((await device.health('sensors')).code, 'SENSOR_FAILED');
    };
    await device.sim.ask({ plug: { endpoint: 'i2c0', address: 0x76, there: false } });
    await away(/NACK/);
    await device.sim.ask({ plug: { endpoint: 'i2c0', address: 0x76, there: true } });
    await eventually('the chip', () => read().catch(() => undefined));
    assert.equal((await device.health('sensors')).status, 'okay');
    await device.sim.ask({ chip: { endpoint: 'i2c0', address: 0x76, change: { id: 0x58 } } });
    await device.sim.ask({ plug: { endpoint: 'i2c0', address: 0x76, there: false } });
    await away(/NACK/);
    await device.sim.ask({ plug: { endpoint: 'i2c0', address: 0x76, there: true } });
    await away(/0x58/);
  });
});
