/** An SPI component as apps get it by its handle, wherever it is: the plugin spi over the bridge, or over a chip select of the host. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { SkuPlugin } from '@device-core/plugin-api';
import { type BusCore, base64, eventually } from '../fixtures/bus-core.ts';

export interface SpiUnderTest {
  /** A Core with these plugins, whose chip select 0 gives back what is sent. */
  readonly start: (plugins: Readonly<Record<string, SkuPlugin>>) => Promise<BusCore>;
  readonly endpoint: string;
  /** The bus takes its time with what comes, until it is let go. */
  readonly slow: (device: BusCore) => Promise<() => Promise<void>>;
}

/** Declares the tests; call it inside a `describe`. */
export function spiBusContract({ start, endpoint, slow }: SpiUnderTest): void {
  const one = { endpoint, cs: 0, speed: 125_000, mode: 0 };
  const handles = [
    { name: 'loop', ...one },
    { name: 'hasty', ...one, deadlineMs: 40 },
  ];
  const open = () => start({ spi: { version: '^1.0.0', config: { handles } } });
  const transfer = (rxLen: number, ...tx: readonly number[]) => ({ handle: 'loop', tx: base64(...tx), rxLen });

  it('clocks bytes out and in at once for many callers, and refuses more of them than the class has', async () => {
    await using device = await open();
    assert.deepEqual(await device.call('spi.transfer', transfer(5, 1, 2, 255)), { rx: base64(1, 2, 255, 0, 0) });
    assert.deepEqual(await device.call('spi.transfer', transfer(1, 7, 8)), { rx: base64(7) });
    assert.deepEqual(await device.call('spi.transfer', transfer(0, 7)), { rx: '' });
    assert.equal((await device.health('spi')).status, 'okay');
    const bytes = [3, 4, 5, 6];
    assert.deepEqual(
      await Promise.all(bytes.map((byte) => device.call('spi.transfer', transfer(1, byte)))),
      bytes.map((byte) => ({ rx: base64(byte) })),
    );
    assert.equal((await device.refusal('spi.transfer', transfer(65_537))).code, 'PARAMS_INVALID');
    assert.deepEqual(await device.call('spi.transfer', transfer(1, 9)), { rx: base64(9) });
  });

  it('ends a transfer at the deadline of its handle, and works again once the bus is free', async () => {
    await using device = await open();
    const free = await slow(device);
    const { code, details } = await device.refusal('spi.transfer', { ...transfer(1, 1), handle: 'hasty' });
    assert.deepEqual([code, details.clock, details.executed], ['TIMEOUT', 'transfer', 'unknown']);
    await free();
    await eventually('a transfer that works', () =>
      device.call('spi.transfer', transfer(1, 1)).then(
        () => true,
        () => false,
      ),
    );
  });
}
