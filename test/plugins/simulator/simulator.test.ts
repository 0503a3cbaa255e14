/** Costs a Core with a simulated bridge for the whole file. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { BridgeView } from '@device-core/plugin-api/inside/services/bridge-simulator';
import type { ServerSentEvent } from '@device-core/plugin-api/services/operations';
import { leakCheck } from '@device-core/plugin-api/testing';
import { CONTROLS } from '../../../plugins/hardware/simulator/controls.ts';
import { type BusCore, eventually, startBuses } from '../../fixtures/bus-core.ts';

after(leakCheck());

interface State {
  readonly bridge: BridgeView;
  readonly network?: object;
  readonly power?: object;
  readonly panel: { readonly plugged: boolean };
}

const HANDLES = {
  gpio: [
    { name: 'door', endpoint: 'gpio0', line: 20, direction: 'in', edge: 'both', pull: 'down' },
    { name: 'fast', endpoint: 'gpio0', line: 21, direction: 'in', edge: 'both', pull: 'down' },
  ],
  i2c: [
    { name: 'climate', endpoint: 'i2c0', address: 0x76 },
    { name: 'memory', endpoint: 'i2c0', address: 0x50 },
    { name: 'tags', endpoint: 'i2c0', address: 0x24 },
  ],
  uart: [{ name: 'loop', endpoint: 'uart0', baud: 115_200 }],
  can: [{ name: 'vehicle', endpoint: 'can0', nominal: 500_000 }],
};
const line = (handles: readonly object[]) => ({ version: '^1.0.0', config: { handles } });

describe('simulator', () => {
  let device: BusCore;
  const told: { readonly topic: string; readonly payload: Readonly<Record<string, unknown>> }[] = [];
  let listening: Promise<void>;
  const listen = async (stream: AsyncIterable<ServerSentEvent>): Promise<void> => {
    try {
      for await (const { data } of stream) told.push(data as (typeof told)[number]);
    } catch {
      // The Core has ended.
    }
  };
  const state = () => device.call<State>('sim.state', {});
  const endpoint = async (label: string) => (await state()).bridge.endpoints.find((one) => one.label === label)!;
  /** An event that came since the last question, with these members. */
  const event = (topic: string, part: object) =>
    eventually(`${topic} ${JSON.stringify(part)}`, () =>
      told.some(
        (one) =>
          one.topic === topic &&
          Object.entries(part).every(([name, value]) => JSON.stringify(one.payload[name]) === JSON.stringify(value)),
      ),
    );
  const does = async (control: string, params: object = {}) => {
    told.length = 0;
    await device.call(`sim.${control}`, params);
  };
  const read = (handle: string) => device.call('i2c.transfer', { handle, tx: 'AA==', rxLen: 1 });
  const climate = async () => (await device.call<{ values: object }>('sensors.read', { name: 'environment' })).values;

  before(async () => {
    device = await startBuses({
      gpio: line(HANDLES.gpio),
      i2c: line(HANDLES.i2c),
      uart: line(HANDLES.uart),
      can: { version: '^1.0.0', config: { handles: HANDLES.can, events: true } },
      sensors: '^1.0.0',
      nfc: '^1.0.0',
      events: '^1.0.0',
      presence: { version: '^1.0.0', config: { handle: 'door', confirmMs: 20, holdMs: 200 } },
      bme280: { version: '^1.0.0', config: { handle: 'climate', leastIntervalMs: 10 } },
      pn532: { version: '^1.0.0', config: { handle: 'tags' } },
      network: '^1.0.0',
      power: '^1.0.0',
      time: '^1.0.0',
      simulator: '^1.0.0',
    });
    listening = listen(await device.call('events.stream', { filter: ['**'] }, undefined, 600_000));
  });
  after(async () => {
    await device[Symbol.asyncDispose]();
    await listening;
  });

  /** What is asked, what the state shows then, and what the Core sees of it. */
  const seen: Readonly<Record<string, () => Promise<unknown>>> = {
    async faults() {
      await does('faults', { bitErrorRate: 0.001 });
      assert.equal((await state()).bridge.faults.bitErrorRate, 0.001);
      await does('faults', {});
      assert.equal((await state()).bridge.faults.bitErrorRate, 0);
    },
    async silence() {
      await does('silence', { ms: 3_600_000 });
      assert.equal((await state()).bridge.silent, true);
      await event('bridge.link', { state: 'down' });
      await does('heal');
      assert.equal((await state()).bridge.silent, false);
      await event('bridge.link', { state: 'up' });
    },
    async mute() {
      await does('mute', { muted: true });
      assert.equal((await state()).bridge.muted, true);
      await event('bridge.link', { state: 'down' });
      await does('heal');
      assert.equal((await state()).bridge.muted, false);
      await event('bridge.link', { state: 'up' });
    },
    async crash() {
      await does('crash', { ms: 3_600_000 });
      await event('bridge.link', { state: 'down' });
      // Healing does not wait for the hour.
      await does('heal');
      await event('bridge.link', { state: 'up' });
    },
    async die() {
      await does('die');
      await event('bridge.link', { state: 'down' });
      await event('bridge.link', { state: 'up' });
    },
    async major() {
      await does('major', { version: 2 });
      assert.equal((await state()).bridge.major, 2);
      await does('crash', { ms: 0 });
      await event('bridge.link', { state: 'down' });
      await does('heal');
      await event('bridge.link', { state: 'up' });
    },
    async log() {
      await does('log', { text: 'the fan is loud' });
    },
    async slow() {
      await does('slow', { endpoint: 'uart0', ms: 40 });
      assert.equal((await endpoint('uart0')).slowMs, 40);
      await does('heal');
      assert.equal((await endpoint('uart0')).slowMs, 0);
    },
    async changed() {
      await does('changed', { endpoint: 'pio0', there: false });
      assert.equal((await endpoint('pio0')).there, false);
      await does('heal');
      assert.equal((await endpoint('pio0')).there, true);
    },
    async drive() {
      await does('drive', { endpoint: 'gpio0', line: 21, level: 1 });
      await event('gpio.edge', { handle: 'fast', level: 1 });
      const { outside, level } = (await endpoint('gpio0')).lines![21]!;
      assert.deepEqual([outside, level], [1, 1]);
      await does('drive', { endpoint: 'gpio0', line: 21, level: null });
      assert.equal((await endpoint('gpio0')).lines![21]!.outside, null);
    },
    async pulse() {
      await does('pulse', { endpoint: 'gpio0', line: 21, times: 2 });
      await event('gpio.edge', { handle: 'fast', level: 1 });
      await event('gpio.edge', { handle: 'fast', level: 0 });
    },
    async stick() {
      await does('stick', { endpoint: 'i2c0', recoveries: null });
      assert.equal((await endpoint('i2c0')).stuck, null);
      assert.match(
        (await device.refusal('i2c.transfer', { handle: 'memory', tx: 'AA==', rxLen: 1 })).code,
        /^(BRIDGE|TRANSFER)_FAILED$/,
      );
      await does('heal');
      assert.equal((await endpoint('i2c0')).stuck, 0);
      await read('memory');
    },
    async plug() {
      await does('plug', { endpoint: 'i2c0', address: 0x50, there: false });
      assert.equal((await endpoint('i2c0')).chips!.find(({ address }) => address === 0x50)!.there, false);
      await device.refusal('i2c.transfer', { handle: 'memory', tx: 'AA==', rxLen: 1 });
      await does('heal');
      await read('memory');
    },
    async chip() {
      await does('chip', { endpoint: 'i2c0', address: 0x76, change: { temperature: 30 } });
      await eventually(
        '30 degrees',
        async () => Math.round(((await climate()) as { temperature: number }).temperature) === 30,
      );
    },
    async weather() {
      await does('weather', { temperature: 10, humidity: 80 });
      await eventually(
        '10 degrees',
        async () => Math.round(((await climate()) as { temperature: number }).temperature) === 10,
      );
      const { senses } = (await endpoint('i2c0')).chips!.find(({ kind }) => kind === 'bme280')!;
      assert.equal(senses!.humidity, 80);
    },
    async say() {
      await does('say', { endpoint: 'uart0', text: 'hello' });
      await eventually('the bytes', async () => {
        const { rx } = await device.call<{ rx: string }>('uart.read', { handle: 'loop' });
        return Buffer.from(rx, 'base64').toString().includes('hello');
      });
    },
    async garble() {
      await does('garble', { endpoint: 'uart0', bits: 4 });
      await event('uart.error', { handle: 'loop' });
    },
    async can() {
      await eventually('the frame', async () => {
        // What comes before the controller has been configured is nobody's.
        await does('can', { endpoint: 'can0', id: 0x77, data: [1] });
        return told.some(({ topic, payload }) => topic === 'can.frame' && payload.id === 0x77);
      });
    },
    async short() {
      await does('short', { endpoint: 'can0', broken: true });
      assert.equal((await endpoint('can0')).broken, true);
      await does('heal');
      assert.equal((await endpoint('can0')).broken, false);
    },
    async heal() {
      await does('heal');
    },
    async tag() {
      await does('tag', { uid: '04aabbccddeeff', text: 'Hello', uri: 'https://example.com' });
      await event('nfc.tag', { state: 'arrived', uid: '04aabbccddeeff' });
      const { records } = await device.call<{ records: readonly object[] }>('nfc.read', {});
      assert.deepEqual(records, [
        { type: 'text', text: 'Hello', language: 'en' },
        { type: 'uri', uri: 'https://example.com' },
      ]);
    },
    async untag() {
      await does('untag');
      await event('nfc.tag', { state: 'removed' });
    },
    async presence() {
      await does('presence', { moving: true });
      await event('system.presence', { state: 'present' });
      await does('presence', { moving: false });
      await event('system.presence', { state: 'absent' });
    },
    async network() {
      await does('network', { state: 'offline' });
      await event('system.network', { state: 'offline', type: 'wifi', metered: false });
      assert.deepEqual((await state()).network, { state: 'offline', type: 'wifi', metered: false });
    },
    async power() {
      await does('power', { source: 'battery', level: 0.1, state: 'low' });
      await event('system.power', { source: 'battery', level: 0.1, state: 'low' });
    },
    async time() {
      await does('time', { set: false, zone: 'Asia/Tokyo' });
      await event('system.time', { set: false, zone: 'Asia/Tokyo' });
      assert.deepEqual(await device.call('time.status', {}).then(({ now: _, ...rest }) => rest), {
        provider: 'sim',
        set: false,
        zone: 'Asia/Tokyo',
      });
    },
    counts: async () => assert.ok((await device.call<{ wire: object }>('sim.counts', {})).wire),
    settings: async () =>
      assert.ok((await device.call<{ settings: object }>('sim.settings', { endpoint: 'uart0' })).settings),
    clocked: async () =>
      assert.ok((await device.call<{ clocked: number }>('sim.clocked', { endpoint: 'i2c0' })).clocked > 0),
  };
  /** They hand on to another plugin, which is not here. */
  const elsewhere = CONTROLS.filter(({ operation }) => operation).map(({ id }) => id);

  it('has a case for each control', () => {
    assert.deepEqual(Object.keys(seen).concat(elsewhere).toSorted(), CONTROLS.map(({ id }) => id).toSorted());
  });

  for (const [id, check] of Object.entries(seen))
    it(`control ${id} arrives, and the Core sees it`, () => check().then());

  for (const id of elsewhere)
    it(`control ${id} says which plugin is missing`, async () => {
      const params = { touch: { x: 1, y: 1 }, swipe: { x: 1, y: 1, toX: 2, toY: 2 }, key: { name: 'ok' } }[id as 'key'];
      const given = params ?? (id === 'cable' ? { plugged: true } : { wav: 'UklGRg==' });
      assert.equal((await device.refusal(`sim.${id}`, given)).code, 'METHOD_NOT_FOUND');
    });

  const bad: readonly (readonly [what: string, control: string, params: object, code: string])[] = [
    ['an unknown control', 'fly', {}, 'METHOD_NOT_FOUND'],
    ['a share above 1', 'faults', { bitErrorRate: 1.5 }, 'PARAMS_INVALID'],
    ['a member that nobody knows', 'faults', { noise: 1 }, 'PARAMS_INVALID'],
    ['an endpoint that is not there', 'slow', { endpoint: 'spi9', ms: 1 }, 'PARAMS_INVALID'],
    ['an endpoint of another class', 'drive', { endpoint: 'spi0', line: 1, level: 1 }, 'PARAMS_INVALID'],
    ['a label of a prototype', 'slow', { endpoint: 'constructor', ms: 1 }, 'PARAMS_INVALID'],
    ['a line beyond the last', 'drive', { endpoint: 'gpio0', line: 32, level: 1 }, 'PARAMS_INVALID'],
    ['a level of 2', 'drive', { endpoint: 'gpio0', line: 1, level: 2 }, 'PARAMS_INVALID'],
    ['a chip that is not there', 'chip', { endpoint: 'i2c0', address: 1, change: {} }, 'PARAMS_INVALID'],
    [
      'a change that the chip does not know',
      'chip',
      { endpoint: 'i2c0', address: 0x76, change: { wind: 3 } },
      'PARAMS_INVALID',
    ],
    ['weather of another planet', 'weather', { temperature: 460 }, 'PARAMS_INVALID'],
    ['a tag with half a byte', 'tag', { uid: '04a' }, 'PARAMS_INVALID'],
    ['a network of dreams', 'network', { state: 'telepathy' }, 'PARAMS_INVALID'],
    ['pulses without end', 'pulse', { endpoint: 'gpio0', line: 1, times: 1e9 }, 'PARAMS_INVALID'],
  ];
  for (const [what, control, params, code] of bad)
    it(`refuses ${what}`, async () => {
      assert.equal((await device.refusal(`sim.${control}`, params)).code, code);
    });

  it('refuses an app without the capability', async () => {
    const app = { kind: 'app', id: 'com.example.stranger' } as const;
    assert.equal((await device.refusal('sim.heal', {}, app)).code, 'CAPABILITY_DENIED');
  });

  it('says in its state that the bridge is not there, and that it is back', async () => {
    await device.call('sim.die', {});
    await eventually('its end', async () => (await state()).bridge === undefined);
    await eventually('its return', async () => (await state()).bridge !== undefined);
  });
});
