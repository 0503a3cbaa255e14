import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { type SensorSource, sensors } from '@device-core/plugin-api/services/sensors';
import { leakCheck } from '@device-core/plugin-api/testing';
import { APP, eventually, startBuses } from '../../fixtures/bus-core.ts';
import { pace } from '../../fixtures/eventually.ts';

after(leakCheck());

const describeSensor = (name: string, leastIntervalMs = 20) => ({
  name,
  title: name,
  quantities: { level: { unit: '1' } },
  leastIntervalMs,
});
const start = (given?: readonly string[]) =>
  startBuses({ sensors: { version: '^1.0.0', config: { readMs: 100 } } }, given);

describe('sensors', () => {
  it('shares a reading among those who ask at the same time, and gives a young one again', async () => {
    await using device = await start();
    let taken = 0;
    const source: SensorSource = {
      async read() {
        taken++;
        await pace(10);
        return { at: Date.now(), values: { level: taken } };
      },
    };
    await using _tank = device.core.service(sensors).register(describeSensor('tank', 50), source, 'plugin.test');
    const read = async () =>
      (await device.call<{ values: { level: number } }>('sensors.read', { name: 'tank' })).values.level;
    assert.deepEqual(await Promise.all([read(), read(), read()]), [1, 1, 1]);
    assert.equal(await read(), 1);
    await pace(60);
    assert.equal(await read(), 2);
  });

  it('follows a sensor at the pace that was asked for', async () => {
    await using device = await start();
    const source: SensorSource = { read: async () => ({ at: Date.now(), values: { level: 1 } }) };
    await using _tank = device.core.service(sensors).register(describeSensor('tank'), source, 'plugin.test');
    const stream = await device.open('sensors.follow', { name: 'tank', intervalMs: 20 });
    await eventually('three readings', () => (stream.chunks.length >= 3 ? true : undefined));
    assert.deepEqual(JSON.parse(Buffer.from(stream.chunks[0]!).toString()).values, { level: 1 });
    stream.stop();
    await stream.ended;
  });

  it('tells the fault of a sensor, and that it works again', async () => {
    await using device = await start();
    let behaviour: 'fails' | 'hangs' | 'works' = 'fails';
    const source: SensorSource = {
      async read() {
        if (behaviour === 'fails') throw new CoreError('TRANSFER_FAILED', { handle: 'x', reason: 'NACK' });
        if (behaviour === 'hangs') await new Promise(() => undefined);
        return { at: 1, values: {} };
      },
    };
    await using _tank = device.core.service(sensors).register(describeSensor('tank'), source, 'plugin.test');
    assert.equal((await device.refusal('sensors.read', { name: 'tank' })).code, 'SENSOR_FAILED');
    assert.match((await device.health('sensors')).message!, /tank: .*NACK/);
    behaviour = 'hangs';
    assert.equal((await device.refusal('sensors.read', { name: 'tank' })).code, 'TIMEOUT');
    behaviour = 'works';
    await device.call('sensors.read', { name: 'tank' });
    assert.equal((await device.health('sensors')).status, 'okay');
  });

  it('names to an app only sensors that it may read', async () => {
    await using device = await start(['sensors.tnk', 'sensors.tank', 'sensors.dor']);
    const source: SensorSource = { read: async () => ({ at: 1, values: {} }) };
    const service = device.core.service(sensors);
    await using _tank = service.register(describeSensor('tank'), source, 'plugin.test');
    await using _door = service.register(describeSensor('door'), source, 'plugin.test');
    const said = async (name: string) => (await device.refusal('sensors.read', { name }, APP)).message;
    assert.equal(await said('tnk'), 'there is no sensor tnk; did you mean tank?');
    assert.equal(await said('dor'), 'there is no sensor dor');
  });

  it('lets an app read the sensors that it was granted', async () => {
    await using device = await start(['sensors.tank']);
    const source: SensorSource = { read: async () => ({ at: 1, values: {} }) };
    const service = device.core.service(sensors);
    await using _tank = service.register(describeSensor('tank'), source, 'plugin.test');
    await using _door = service.register(describeSensor('door'), source, 'plugin.test');
    await device.call('sensors.read', { name: 'tank' }, APP);
    assert.equal((await device.refusal('sensors.read', { name: 'door' }, APP)).details.capability, 'sensors.door');
    const { sensors: list } = await device.call<{ sensors: { name: string }[] }>('sensors.list', {}, APP);
    assert.deepEqual(
      list.map(({ name }) => name),
      ['tank'],
    );
    assert.equal((await device.refusal('sensors.read', { name: 'none' })).code, 'SENSOR_NOT_FOUND');
    const { message } = await device.refusal('sensors.read', { name: 'dor' });
    assert.equal(message, 'there is no sensor dor; did you mean door?');
    await assert.rejects(async () => void (await service.register(describeSensor('tank'), source, 'plugin.other')), {
      code: 'SENSOR_CONFLICT',
    });
    await assert.rejects(async () => void (await service.register(describeSensor('No'), source, 'plugin.other')), {
      code: 'PARAMS_INVALID',
    });
  });
});
