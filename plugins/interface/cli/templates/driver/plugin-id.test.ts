import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type ComponentHealth, spi } from '@device-core/plugin-api';
import { checkManifest, createTestHost } from '@device-core/plugin-api/testing';
import { pluginIdService } from './contract.ts';
import { config, FakeSpi, WARM } from './fakes.ts';
import { plugin } from './index.ts';
import { decode } from './max31855.ts';

const manifest = join(import.meta.dirname, 'plugin.yaml');

async function start(frame: Uint8Array) {
  const bus = new FakeSpi(frame);
  return { bus, host: await createTestHost(plugin, { manifest, config, services: [[spi, bus]] }) };
}

test('manifest and plugin agree', () => {
  assert.deepEqual(checkManifest(manifest, plugin), []);
});

/** Columns of the tables of the data sheet: bits of the thermocouple, bits of the chip. */
for (const [thermocouple, chip, celsius, chipCelsius] of [
  ['01100100000000', '011111110000', 1600, 127],
  ['00111110100000', '011001001001', 1000, 100.5625],
  ['00000000000000', '000000000000', 0, 0],
  ['11111111111111', '111111111111', -0.25, -0.0625],
  ['11110000011000', '110010010000', -250, -55],
] as const) {
  test(`${thermocouple} and ${chip} are ${celsius} and ${chipCelsius} degrees`, () => {
    const word = Number.parseInt(`${thermocouple}00${chip}0000`, 2);
    const frame = Buffer.alloc(4);
    frame.writeUInt32BE(word);
    assert.deepEqual(decode(frame), { celsius, chipCelsius });
  });
}

test('measures when asked and by itself, takes its handle, and leaves nothing behind', async () => {
  const { bus, host } = await start(WARM);
  await using _host = host;
  assert.deepEqual(await host.service(pluginIdService).read(), { celsius: 25, chipCelsius: 22 });
  assert.deepEqual(
    [...bus.registered.values()],
    [{ name: 'plugin-id', endpoint: 'spi0', cs: 0, speed: 5_000_000, mode: 0 }],
  );
  const deadline = AbortSignal.timeout(5_000);
  while (host.published.length === 0) {
    deadline.throwIfAborted();
    await delay(5);
  }
  assert.equal(host.published[0]?.topic, 'plugin.plugin-id.temperature');
  assert.deepEqual(host.published[0]?.payload, { celsius: 25, chipCelsius: 22 });
  await host.stop();
  assert.equal(bus.registered.size, 0);
  assert.deepEqual(host.leaks(), []);
});

for (const { title, frame, message } of [
  { title: 'a data line that nobody drives', frame: [0xff, 0xff, 0xff, 0xff], message: /no MAX31855 answers/ },
  { title: 'an open thermocouple', frame: [0, 1, 0, 1], message: /open or not connected/ },
  { title: 'two faults', frame: [0, 1, 0, 6], message: /shorted to ground, .* shorted to the supply/ },
]) {
  test(`${title} is told to who asks, and by the health`, async () => {
    const { host } = await start(Uint8Array.from(frame));
    await using _host = host;
    await assert.rejects(host.service(pluginIdService).read(), { code: 'UNAVAILABLE', message });
    await delay(50);
    const found: Record<string, ComponentHealth> = {};
    const nothing = () => undefined;
    const add = (name: string, health: ComponentHealth) => {
      found[name] = health;
    };
    await host.hook('health.collect').promise({ add, bridge: nothing, warn: nothing });
    assert.equal(found['plugin-id']?.status, 'error');
    assert.match(found['plugin-id']?.message ?? '', message);
    assert.deepEqual(host.published, []);
  });
}
