import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { type GpioEdge, gpio } from '@device-core/plugin-api/services/gpio';
import { leakCheck } from '@device-core/plugin-api/testing';
import { APP, eventually, startBuses } from '../../fixtures/bus-core.ts';
import { pace } from '../../fixtures/eventually.ts';

after(leakCheck());

// Lines 0 to 7 of the demo board are wired to 8 to 15.
const HANDLES = [
  { name: 'led', endpoint: 'gpio0', line: 0, direction: 'out', safe: 0 },
  { name: 'button', endpoint: 'gpio0', line: 8, direction: 'in', edge: 'both' },
  { name: 'door', endpoint: 'gpio0', line: 20, direction: 'in', edge: 'rising', pull: 'down' },
];
const start = (grants?: readonly string[], config: object = {}) =>
  startBuses({ gpio: { version: '^1.0.0', config: { handles: HANDLES, ...config } } }, grants);
type Handles = { handles: { name: string; edges: number; lostEdges: number }[] };

describe('gpio', () => {
  it('writes outputs and reads inputs', async () => {
    await using device = await start();
    for (const value of [1, 0, 1]) {
      await device.call('gpio.write', { handle: 'led', value });
      assert.deepEqual(await device.call('gpio.read', { handle: 'button' }), { value });
    }
  });

  it('refuses wrong requests, and names the fault', async () => {
    await using device = await start(['bridges.gpio:led']);
    const REFUSED = [
      ['gpio.write', { handle: 'button', value: 1 }, 'PARAMS_INVALID', /button is an input/],
      ['gpio.write', { handle: 'led', value: 2 }, 'PARAMS_INVALID', /value/],
      ['gpio.read', { handle: 'none' }, 'HANDLE_NOT_FOUND', /GPIO handle none/],
      ['gpio.configure', { handle: 'led', pull: 'sideways' }, 'PARAMS_INVALID', /pull/],
    ] as const;
    for (const [name, params, code, message] of REFUSED) {
      const error = await device.refusal(name, params);
      assert.equal(error.code, code);
      assert.match(error.message, message);
    }
    assert.equal(
      (await device.refusal('gpio.read', { handle: 'button' }, APP)).details.capability,
      'bridges.gpio:button',
    );
  });

  it('tells edges to plugins, to streams and on the bus', async () => {
    await using device = await start();
    const heard: GpioEdge[] = [];
    using _listener = device.core.service(gpio).onEdge('button', (edge) => void heard.push(edge));
    const stream = await device.open('gpio.edges', { handle: 'button' });
    const before = Date.now();
    await device.call('gpio.write', { handle: 'led', value: 1 });
    await device.call('gpio.write', { handle: 'led', value: 0 });
    await eventually('two edges', () => (heard.length === 2 && stream.chunks.length === 2 ? true : undefined));
    assert.deepEqual(
      heard.map(({ level, lost }) => [level, lost]),
      [
        [1, 0],
        [0, 0],
      ],
    );
    assert.ok(heard.every(({ at }) => Math.abs(at - before) < 5_000));
    assert.deepEqual(
      stream.chunks.map((line) => JSON.parse(Buffer.from(line).toString()).level),
      [1, 0],
    );
    stream.stop();
    await stream.ended;
    const { handles } = await device.call<Handles>('gpio.handles', {});
    assert.equal(handles.find(({ name }) => name === 'button')?.edges, 2);
  });

  it('counts the edges that the bridge dropped, and tells of them with the next', async () => {
    await using device = await start();
    const heard: GpioEdge[] = [];
    using _listener = device.core.service(gpio).onEdge('door', (edge) => void heard.push(edge));
    const counted = () => heard.reduce((sum, { lost }) => sum + lost + 1, 0);
    const pulse = (times: number) => device.sim.ask({ pulse: { endpoint: 'gpio0', line: 20, times } });
    // The bridge learns of the listener in its own time.
    await eventually('the first edge', async () => {
      await pulse(1);
      await pace(50);
      return heard.length > 0 ? true : undefined;
    });
    await pace(100);
    const before = { counted: counted(), heard: heard.length };
    await pulse(40);
    // A single edge finds the queue of the bridge full as well, while the host is slow to take from it.
    let sent = 40;
    await eventually('the loss', async () => {
      await pace(100);
      if (counted() - before.counted === sent) return true;
      await pulse(1);
      sent += 1;
      await pace(100);
    });
    const came = heard.length - before.heard;
    assert.ok(came > 1 && came < sent, `${came} of ${sent} came`);
    const { handles } = await device.call<Handles>('gpio.handles', {});
    const door = handles.find(({ name }) => name === 'door')!;
    assert.equal(door.edges + door.lostEdges, counted());
  });

  describe('an output over outages of the bridge', () => {
    const OUTPUT = { name: 'relay', endpoint: 'gpio0', line: 1, direction: 'out', initial: 1, safe: 'keep' };
    const WATCH = { name: 'contact', endpoint: 'gpio0', line: 9, direction: 'in', edge: 'both' };
    const open = (output: object = {}) => start([], { handles: [{ ...OUTPUT, ...output }, WATCH] });
    type Device = Awaited<ReturnType<typeof open>>;
    const level = async (device: Device) =>
      (await device.call<{ value: number }>('gpio.read', { handle: 'contact' })).value;
    const link = async (device: Device) =>
      (await device.call<{ bridge: { sid?: number; bootId?: number } }>('system.health', {})).bridge;
    const becomes = (device: Device, status: string) =>
      eventually(`gpio is ${status}`, async () => ((await device.health('gpio')).status === status ? true : undefined));

    it('stays as it was written when the link was silent and the bridge was not reset', async () => {
      await using device = await open();
      assert.equal(await level(device), 1);
      await device.call('gpio.write', { handle: 'relay', value: 0 });
      const before = await link(device);
      const heard: GpioEdge[] = [];
      await eventually('the edge of the write', async () => {
        const { handles } = await device.call<Handles>('gpio.handles', {});
        return handles.find(({ name }) => name === 'contact')!.edges > 0 ? true : undefined;
      });
      using _listener = device.core.service(gpio).onEdge('contact', (edge) => void heard.push(edge));
      await device.sim.ask({ mute: { muted: true } });
      await becomes(device, 'waiting');
      await device.sim.ask({ mute: { muted: false } });
      await becomes(device, 'okay');
      const after = await link(device);
      assert.notEqual(after.sid, before.sid, 'another session');
      assert.equal(after.bootId, before.bootId, 'of the same run of the bridge');
      assert.equal(await level(device), 0);
      assert.deepEqual(heard, []);
    });

    for (const [onReset, wanted] of [
      [undefined, 0],
      ['initial', 1],
    ] as const) {
      it(`has level ${wanted} again after a reset of the bridge with onReset ${onReset}`, async () => {
        await using device = await open(onReset === undefined ? {} : { onReset });
        await device.call('gpio.write', { handle: 'relay', value: 0 });
        const { bootId } = await link(device);
        await device.sim.ask({ crash: { transactions: 1, ms: 50 } });
        await eventually('another run of the bridge', async () =>
          ![undefined, bootId].includes((await link(device)).bootId) ? true : undefined,
        );
        await becomes(device, 'okay');
        assert.equal(await level(device), wanted);
      });
    }

    it('has its level again at once when bridge.resetEndpoint took it away', async () => {
      await using device = await open();
      await device.call('gpio.write', { handle: 'relay', value: 0 });
      await device.call('gpio.write', { handle: 'relay', value: 1 });
      await device.call('bridge.resetEndpoint', { endpoint: 'gpio0' });
      await eventually('the level', async () => ((await level(device)) === 1 ? true : undefined));
    });
  });

  it('changes settings, and sets them again when the bridge was reset', async () => {
    await using device = await start();
    await device.call('gpio.configure', { handle: 'door', pull: 'up' });
    assert.deepEqual(await device.call('gpio.read', { handle: 'door' }), { value: 1 });
    await device.call('gpio.write', { handle: 'led', value: 1 });
    await device.sim.ask({ crash: { transactions: 1, ms: 50 } });
    await eventually('the new session', async () => {
      const value = await device.call<{ value: number }>('gpio.read', { handle: 'door' }).catch(() => undefined);
      return value?.value === 1 && (await device.health('gpio')).status === 'okay' ? true : undefined;
    });
    await device.call('gpio.write', { handle: 'led', value: 1 });
    assert.deepEqual(await device.call('gpio.read', { handle: 'button' }), { value: 1 });
  });
});
