/** A serial line as apps get it by its handle, wherever it is: the plugin uart over the bridge, or over a line of the host. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { SkuPlugin } from '@device-core/plugin-api';
import { type BusCore, eventually } from '../fixtures/bus-core.ts';

export interface UartUnderTest {
  /** A Core with these plugins; the bytes that the line sends come back to it. */
  readonly start: (plugins: Readonly<Record<string, SkuPlugin>>) => Promise<BusCore>;
  readonly endpoint: string;
}

type Read = { rx: string; lost: number; lostPackets: number };

/** Declares the tests; call it inside a `describe`. */
export function uartBusContract({ start, endpoint }: UartUnderTest): void {
  const open = (more: object = {}) =>
    start({ uart: { version: '^1.0.0', config: { handles: [{ name: 'line', endpoint, baud: 115_200, ...more }] } } });
  const write = (device: BusCore, bytes: Uint8Array) =>
    device.call('uart.write', { handle: 'line', tx: Buffer.from(bytes).toString('base64') });

  it('carries every byte as it is, the codes of terminals included', async () => {
    await using device = await open();
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
    assert.deepEqual(await write(device, bytes), { written: 256 });
    const parts: Buffer[] = [];
    await eventually('all bytes', async () => {
      parts.push(Buffer.from((await device.call<Read>('uart.read', { handle: 'line', timeoutMs: 0 })).rx, 'base64'));
      return Buffer.concat(parts).length >= 256;
    });
    assert.deepEqual(new Uint8Array(Buffer.concat(parts)), bytes);
    assert.equal((await device.health('uart')).status, 'okay');
  });

  it('tells streams and readers the same bytes', async () => {
    await using device = await open();
    const stream = await device.open('uart.receive', { handle: 'line' });
    await write(device, Buffer.from('hello'));
    await eventually('the stream', () => Buffer.concat(stream.chunks).toString() === 'hello');
    const { rx } = await device.call<Read>('uart.read', { handle: 'line', timeoutMs: 1_000 });
    assert.equal(Buffer.from(rx, 'base64').toString(), 'hello');
    stream.stop();
    await stream.ended;
  });

  it('takes another speed while it runs', async () => {
    await using device = await open();
    await device.call('uart.configure', { handle: 'line', baud: 31_250 });
    await write(device, Buffer.from('midi'));
    const { rx } = await device.call<Read>('uart.read', { handle: 'line', timeoutMs: 5_000 });
    assert.match(Buffer.from(rx, 'base64').toString(), /^m/);
  });
}
