/** What every provider of `bridge-port` must do, whatever is behind it. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import type { BridgePort } from '@device-core/plugin-api/services/bridge-port';
import { pace } from '../fixtures/eventually.ts';

export interface PortUnderTest extends AsyncDisposable {
  readonly port: BridgePort;
  /** Takes the device away; absent where a test cannot. */
  readonly unplug?: () => Promise<void>;
  /** Makes transactions go unanswered; absent where a test cannot. */
  readonly mute?: () => Promise<void>;
}

async function code(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof CoreError, 'it should have failed with an error of the table');
  return error.code;
}

/** Declares the tests; call it inside a `describe`. */
export function bridgePortContract(open: () => Promise<PortUnderTest>): void {
  it('says what it is', async () => {
    await using target = await open();
    const info = await target.port.info();
    assert.ok(info.driver.length > 0 && info.device.length > 0);
    assert.ok(info.maxTransfer >= 64);
  });

  it('clocks as many bytes in as out, one transaction after the other', async () => {
    await using target = await open();
    for (const length of [64, 128, 64, 256, 1]) {
      const rx = await target.port.transact(new Uint8Array(length), { speedHz: 1_000_000 });
      assert.equal(rx.length, length);
    }
  });

  it('leaves the bytes it was given alone', async () => {
    await using target = await open();
    const tx = Uint8Array.from({ length: 64 }, (_, index) => index);
    await target.port.transact(tx);
    assert.deepEqual([...tx], [...Uint8Array.from({ length: 64 }, (_, index) => index)]);
  });

  it('refuses a second transaction while one is outstanding', async () => {
    await using target = await open();
    const first = target.port.transact(new Uint8Array(64));
    assert.equal(await code(target.port.transact(new Uint8Array(64))), 'TRANSFER_FAILED');
    assert.equal((await first).length, 64);
  });

  it('refuses a transaction longer than its maximum', async () => {
    await using target = await open();
    const { maxTransfer } = await target.port.info();
    assert.equal(await code(target.port.transact(new Uint8Array(maxTransfer + 1))), 'TRANSFER_FAILED');
  });

  it('tells the level of the data-ready line at once, and no more after dispose', async () => {
    await using target = await open();
    const levels: boolean[] = [];
    const listening = target.port.onReady((level) => void levels.push(level));
    for (let waited = 0; levels.length === 0 && waited < 1_000; waited += 5) await pace(5);
    assert.ok(levels.length > 0);
    listening[Symbol.dispose]();
    await pace(20); // it may have to be told on another side
    const told = levels.length;
    await target.port.transact(new Uint8Array(64));
    await target.port.reset();
    await pace(20);
    assert.equal(levels.length, told);
  });

  it('raises the data-ready line of a bridge that has just been reset', async () => {
    await using target = await open();
    await target.port.reset();
    const { promise, resolve } = Promise.withResolvers<void>();
    using _listening = target.port.onReady((level) => {
      if (level) resolve();
    });
    await promise;
  });

  it('fails with a code when the device is taken away, at once and afterwards', async (context) => {
    await using target = await open();
    if (!target.unplug) return context.skip('this provider cannot be unplugged by a test');
    await target.mute?.();
    const outstanding = code(target.port.transact(new Uint8Array(64)));
    await target.unplug();
    assert.ok(['TRANSFER_FAILED', 'TIMEOUT'].includes(await outstanding));
    assert.equal(await code(target.port.transact(new Uint8Array(64))), 'NOT_INITIALIZED');
  });

  it('gives up a transaction that is not answered', async (context) => {
    await using target = await open();
    if (!target.mute) return context.skip('this provider cannot be muted by a test');
    await target.mute();
    assert.equal(await code(target.port.transact(new Uint8Array(64))), 'TIMEOUT');
    assert.equal(await code(target.port.transact(new Uint8Array(64))), 'TIMEOUT', 'and takes the next one');
  });
}
