import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { i2c } from '@device-core/plugin-api/services/i2c';
import { sensors } from '@device-core/plugin-api/services/sensors';
import { spi } from '@device-core/plugin-api/services/spi';
import { checkManifest, createTestHost } from '@device-core/plugin-api/testing';
import { FakeChip, FakeI2c, FakeSensors, FakeSpi, MILD } from './fakes.ts';
import { plugin } from './index.ts';
import { decode } from './lps22hb.ts';

const manifest = join(import.meta.dirname, 'plugin.yaml');
const SENSOR = 'plugin-id';
const BUSES = [
  {
    bus: 'I2C',
    ref: i2c,
    fake: FakeI2c,
    config: { i2c: { endpoint: 'i2c0' } },
    handle: { name: SENSOR, endpoint: 'i2c0', address: 0x5c },
  },
  {
    bus: 'SPI',
    ref: spi,
    fake: FakeSpi,
    config: { spi: { endpoint: 'spi0', cs: 1 } },
    handle: { name: SENSOR, endpoint: 'spi0', cs: 1, speed: 10_000_000, mode: 3 },
  },
];

async function start({ ref, fake: Bus, config }: (typeof BUSES)[number], chip = new FakeChip(0xb1, MILD)) {
  const bus = new Bus(chip);
  const offered = new FakeSensors();
  const services = [
    [sensors, offered],
    [ref, bus],
  ] as const;
  const host = await createTestHost(plugin, { manifest, config, services });
  await host.settle();
  return { chip, bus, offered, host };
}

test('manifest and plugin agree', () => {
  assert.deepEqual(checkManifest(manifest, plugin), []);
});

for (const { title, frame, values } of [
  { title: 'a mild day', frame: MILD, values: { temperature: 21.5, pressure: 1013.25 } },
  { title: 'frost', frame: [0x03, 0x00, 0x00, 0x40, 0x60, 0xf0], values: { temperature: -40, pressure: 1024 } },
  {
    title: 'a figure below zero',
    frame: [0x03, 0xff, 0xff, 0xff, 0, 0],
    values: { temperature: 0, pressure: -1 / 4096 },
  },
  { title: 'a temperature alone', frame: [0x02, 0, 0, 0, 0, 0], values: undefined },
])
  test(`the registers of ${title} are ${JSON.stringify(values)}`, () => {
    assert.deepEqual(decode(Uint8Array.from(frame)), values);
  });

for (const one of BUSES) {
  test(`on ${one.bus} it takes its handle, measures when asked, and leaves nothing behind`, async () => {
    const { chip, bus, offered, host } = await start(one);
    await using _host = host;
    assert.deepEqual([...bus.registered.values()], [one.handle]);
    assert.deepEqual((await offered.read(SENSOR)).values, { temperature: 21.5, pressure: 1013.25 });
    assert.equal(chip.registers[0x11], 0x11, 'it has asked for one measurement');
    await host.stop();
    assert.equal(bus.registered.size + offered.registered.size, 0);
    assert.deepEqual(host.leaks(), []);
  });

  test(`on ${one.bus} another chip is refused, and so is one that has not measured`, async () => {
    const { chip, offered, host } = await start(one, new FakeChip(0x60, MILD));
    await using _host = host;
    await assert.rejects(offered.read(SENSOR), { code: 'SENSOR_FAILED', message: /is 0x60, an LPS22HB is 0xb1/ });
    chip.registers[0x0f] = 0xb1;
    chip.registers[0x27] = 0;
    await assert.rejects(offered.read(SENSOR), { code: 'SENSOR_FAILED', message: /has not measured/ });
  });
}

test('without its bus there is no sensor; it goes with the bus', async () => {
  const offered = new FakeSensors();
  const config = { i2c: { endpoint: 'i2c0' } };
  const host = await createTestHost(plugin, { manifest, config, services: [[sensors, offered]] });
  await using _host = host;
  assert.equal(offered.registered.size, 0);
  await host.appear(i2c, new FakeI2c(new FakeChip(0xb1, MILD)));
  await host.settle();
  assert.ok(offered.registered.has(SENSOR));
  await host.disappear(i2c);
  assert.equal(offered.registered.size, 0);
});
