/** An I2C bus as apps get it by its handles, wherever it is: the plugin i2c over the bridge, or over a bus of the host. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { SkuPlugin } from '@device-core/plugin-api';
import { i2c } from '@device-core/plugin-api/services/i2c';
import { type BusCore, base64, eventually } from '../fixtures/bus-core.ts';

export interface I2cUnderTest {
  /** A Core with these plugins whose bus has a memory of registers at 0x50, and no chip at 0x33. */
  readonly start: (plugins: Readonly<Record<string, SkuPlugin>>) => Promise<BusCore>;
  readonly endpoint: string;
  /** The bus takes its time with what comes, until it is let go. */
  readonly slow?: (device: BusCore) => Promise<() => Promise<void>>;
}

/** Declares the tests; call it inside a `describe`. */
export function i2cBusContract({ start, endpoint, slow }: I2cUnderTest, skip: string | false = false): void {
  const handles = [
    { name: 'memory', endpoint, address: 0x50, where: 'any' },
    { name: 'nobody', endpoint, address: 0x33 },
    { name: 'hasty', endpoint, address: 0x50, deadlineMs: 40 },
  ];
  const open = () => start({ i2c: { version: '^1.0.0', config: { handles } } });
  const read = (register: number, rxLen: number, handle = 'memory') => ({ handle, tx: base64(register), rxLen });

  it('writes, reads, and reads after a repeated start', { skip }, async () => {
    await using device = await open();
    assert.deepEqual(await device.call('i2c.transfer', { handle: 'memory', tx: base64(4, 1, 2, 3), rxLen: 0 }), {
      rx: '',
    });
    assert.deepEqual(await device.call('i2c.transfer', read(4, 3)), { rx: base64(1, 2, 3) });
    const service = device.core.service(i2c);
    const segments = [{ write: Uint8Array.of(4) }, { read: 1 }, { write: Uint8Array.of(6) }, { read: 1 }];
    assert.deepEqual([...(await service.transfer('memory', segments))], [1, 3]);
    assert.equal((await device.health('i2c')).status, 'okay');
  });

  it('says NACK where no chip answers, and goes on', { skip }, async () => {
    await using device = await open();
    const { code, details } = await device.refusal('i2c.transfer', read(0, 1, 'nobody'));
    assert.deepEqual([code, details.status, details.executed], ['TRANSFER_FAILED', 'NACK', 'unknown']);
    await device.call('i2c.transfer', read(0, 1));
    assert.equal((await device.health('i2c')).status, 'okay');
  });

  it('answers many callers, each with its bytes', { skip }, async () => {
    await using device = await open();
    await device.call('i2c.transfer', { handle: 'memory', tx: base64(0, 7, 8, 9, 10), rxLen: 0 });
    const answers = await Promise.all([0, 1, 2, 3].map((at) => device.call('i2c.transfer', read(at, 1))));
    assert.deepEqual(
      answers,
      [7, 8, 9, 10].map((byte) => ({ rx: base64(byte) })),
    );
  });

  it('takes as many bytes as the class has, and not one more', { skip }, async () => {
    await using device = await open();
    const { rx } = await device.call<{ rx: string }>('i2c.transfer', read(0, 256));
    assert.equal(Buffer.from(rx, 'base64').length, 256);
    assert.equal((await device.refusal('i2c.transfer', read(0, 4_097))).code, 'PARAMS_INVALID');
  });

  if (slow)
    it('ends a transfer at the deadline of its handle, and works again once the bus is free', { skip }, async () => {
      await using device = await open();
      const free = await slow(device);
      const { code, details } = await device.refusal('i2c.transfer', read(0, 1, 'hasty'));
      assert.deepEqual([code, details.clock, details.executed], ['TIMEOUT', 'transfer', 'unknown']);
      await free();
      await eventually('a transfer that works', () =>
        device.call('i2c.transfer', read(0, 1)).then(
          () => true,
          () => false,
        ),
      );
    });

  it('keeps a handle from an endpoint that its policy does not want', { skip }, async () => {
    await using device = await open();
    const service = device.core.service(i2c);
    const { where } = (
      await device.core.service((await import('@device-core/plugin-api/services/endpoints')).endpoints).list()
    ).find(({ name }) => name === endpoint)!;
    const other = where === 'host' ? 'bridge' : 'host';
    service.register({ name: 'elsewhere', endpoint, address: 0x50, where: other }, 'plugin.test');
    service.register({ name: 'here', endpoint, address: 0x50, where }, 'plugin.test');
    await device.call('i2c.transfer', read(0, 1, 'here'));
    const { code, details, message } = await device.refusal('i2c.transfer', read(0, 1, 'elsewhere'));
    assert.deepEqual([code, details.status, details.executed], ['TRANSFER_FAILED', 'DENIED', 'no']);
    assert.match(message, new RegExp(`"where" of the handle is ${other}, and ${endpoint} is on the ${where}`));
    assert.match(
      (await device.health('i2c')).message ?? '',
      new RegExp(`elsewhere \\(${endpoint}, on the ${where}\\)`),
    );
  });
}
