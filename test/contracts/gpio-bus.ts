/** GPIO lines as apps get them by their handles, wherever they are: the plugin gpio over the bridge, or over a controller of the host. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { SkuPlugin } from '@device-core/plugin-api';
import { type GpioEdge, gpio } from '@device-core/plugin-api/services/gpio';
import { type BusCore, eventually } from '../fixtures/bus-core.ts';

export interface GpioUnderTest {
  /** A Core with these plugins whose lines 0 and 1 are wired to lines 8 and 9. */
  readonly start: (plugins: Readonly<Record<string, SkuPlugin>>) => Promise<BusCore>;
  readonly endpoint: string;
}

/** Declares the tests; call it inside a `describe`. */
export function gpioBusContract({ start, endpoint }: GpioUnderTest, skip: string | false = false): void {
  const handles = [
    { name: 'led', endpoint, line: 0, direction: 'out' },
    { name: 'lamp', endpoint, line: 1, direction: 'out', initial: 1 },
    { name: 'button', endpoint, line: 8, direction: 'in', edge: 'both' },
    { name: 'sense', endpoint, line: 9, direction: 'in' },
  ];
  const open = () => start({ gpio: { version: '^1.0.0', config: { handles } } });
  const read = async (device: BusCore, handle: string) => (await device.call('gpio.read', { handle })).value;

  it('begins with the first levels, writes and reads', { skip }, async () => {
    await using device = await open();
    assert.deepEqual([await read(device, 'led'), await read(device, 'sense')], [0, 1]);
    await device.call('gpio.write', { handle: 'led', value: 1 });
    assert.deepEqual([await read(device, 'led'), await read(device, 'button')], [1, 1]);
    assert.equal((await device.health('gpio')).status, 'okay');
  });

  it('tells edges in order, each with its level and time, and none of lines without them', { skip }, async () => {
    await using device = await open();
    await read(device, 'button');
    const edges: GpioEdge[] = [];
    using _heard = device.core.service(gpio).onEdge('button', (edge) => void edges.push(edge));
    using _other = device.core.service(gpio).onEdge('sense', () => assert.fail('it asked for no edges'));
    for (const level of [1, 0, 1] as const) {
      await device.call('gpio.write', { handle: 'led', value: level });
      await device.call('gpio.write', { handle: 'lamp', value: level });
    }
    await eventually('three edges', () => edges.length === 3);
    assert.deepEqual(
      edges.map(({ level, lost }) => [level, lost]),
      [1, 0, 1].map((level) => [level, 0]),
    );
    for (const { at, atUs } of edges) assert.ok(Math.abs(at - Date.now()) < 60_000 && Math.abs(atUs / 1_000 - at) <= 1);
  });

  it('changes the settings of a line, and refuses to write an input', { skip }, async () => {
    await using device = await open();
    const refused = await device.refusal('gpio.write', { handle: 'button', value: 1 });
    assert.deepEqual([refused.code, refused.details.where], ['PARAMS_INVALID', 'handle']);
    await device.call('gpio.configure', { handle: 'sense', direction: 'out', initial: 1 });
    assert.equal(await read(device, 'sense'), 1);
    await device.call('gpio.configure', { handle: 'led', direction: 'in', pull: 'up' });
    const now = await device.refusal('gpio.write', { handle: 'led', value: 1 });
    assert.equal(now.code, 'PARAMS_INVALID');
  });
}
