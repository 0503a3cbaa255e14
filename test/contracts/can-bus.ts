/** A CAN bus as apps get it by its handles, wherever it is: the plugin can over the bridge, or over an interface of the host. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { SkuPlugin } from '@device-core/plugin-api';
import { type CanArrival, can } from '@device-core/plugin-api/services/can';
import { type BusCore, base64, eventually } from '../fixtures/bus-core.ts';

export interface CanUnderTest {
  /** A Core with these plugins, on a bus of 500,000 and 2,000,000 bits per second whose other node answers 7df with 7e8. */
  readonly start: (plugins: Readonly<Record<string, SkuPlugin>>) => Promise<BusCore>;
  readonly endpoint: string;
  /** A short circuit of the bus, or its end. */
  readonly short: (device: BusCore, broken: boolean) => Promise<void>;
}

/** Declares the tests; call it inside a `describe`. */
export function canBusContract({ start, endpoint, short }: CanUnderTest): void {
  const rates = { endpoint, nominal: 500_000, data: 2_000_000 };
  const handles = [
    { name: 'all', ...rates },
    { name: 'answers', ...rates, filters: [{ id: 0x7e8, mask: 0x7f8 }] },
  ];
  const open = () => start({ can: { version: '^1.0.0', config: { handles } } });
  const request = { handle: 'all', id: 0x7df, data: base64(2, 1, 13) };

  it('sends frames that another node acknowledges, hears its answer by the filter of a handle, and refuses frames that no bus carries', async () => {
    await using device = await open();
    const heard: CanArrival[] = [];
    using _listener = device.core.service(can).onFrame('answers', (frame) => void heard.push(frame));
    // The filters of the controller follow the listener.
    await eventually('the answer', async () => {
      const { timestampUs } = await device.call<{ timestampUs: number }>('can.send', request);
      assert.ok(timestampUs > 0);
      return heard.length > 0;
    });
    const [{ id, data, extended, fd, at, atUs } = assert.fail()] = heard;
    assert.deepEqual([id, extended, fd, [...data.subarray(0, 4)]], [0x7e8, false, false, [3, 0x41, 0x0d, 50]]);
    assert.equal(Math.round(atUs / 1_000), at);
    assert.ok(heard.every((frame) => frame.id === 0x7e8));
    assert.equal((await device.health('can')).status, 'okay');
    // CAN FD, and both kinds of ids.
    await device.call('can.send', { handle: 'all', id: 1, fd: true, data: Buffer.alloc(64, 7).toString('base64') });
    await device.call('can.send', { handle: 'all', id: 0x1234_5678, extended: true, data: base64(1) });
    await device.call('can.send', { handle: 'all', id: 5, rtr: true });
    for (const [frame, reason] of [
      [{ id: 0x800 }, /11 bits/],
      [{ id: 1, data: Buffer.alloc(9).toString('base64') }, /cannot have 9 bytes/],
    ] as const) {
      const { code, message } = await device.refusal('can.send', { handle: 'all', ...frame });
      assert.equal(code, 'PARAMS_INVALID');
      assert.match(message, reason);
    }
  });

  it('names a controller that is off the bus in the health, and heals when the bus is whole', async () => {
    await using device = await open();
    await device.call('can.send', { handle: 'all', id: 1 });
    await short(device, true);
    const error = await device.refusal('can.send', { handle: 'all', id: 1 });
    assert.match(error.message, /BUS_OFF/);
    await eventually('its state', async () => (await device.health('can')).code === 'BUS_OFF');
    const { handles: rows } = await device.call<{ handles: { state: string }[] }>('can.handles', {});
    assert.equal(rows[0]!.state, 'bus-off');
    await short(device, false);
    await eventually('the recovery', async () => (await device.health('can')).status === 'okay');
    await device.call('can.send', { handle: 'all', id: 1 });
  });
}
