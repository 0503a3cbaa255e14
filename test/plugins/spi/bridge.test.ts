import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { operations } from '@device-core/plugin-api/services/operations';
import { spi } from '@device-core/plugin-api/services/spi';
import { startCore } from '../../fixtures/core.ts';
import { pace } from '../../fixtures/eventually.ts';
import { codeOf } from '../../fixtures/operation-calls.ts';

const HANDLES = [
  { name: 'flash', endpoint: 'spi0', cs: 0, speed: 8_000_000, mode: 0 },
  { name: 'slow', endpoint: 'spi1', cs: 0, speed: 125_000, mode: 0, deadlineMs: 8_000 },
  { name: 'fast', endpoint: 'spi1', cs: 0, speed: 1_000_000, mode: 0 },
  { name: 'lost', endpoint: 'spi9', cs: 0, speed: 125_000, mode: 0 },
];

async function withBridge() {
  const core = await startCore({
    plugins: {
      operations: '^1.0.0',
      system: '^1.0.0',
      'port-sim': '^1.0.0',
      endpoints: '^1.0.0',
      cbp: '^1.0.0',
      spi: '^1.0.0',
    },
    config: { spi: { handles: HANDLES } },
  });
  const transfer = async (handle: string, tx: Uint8Array, rxLen: number) => {
    const params = { handle, tx: Buffer.from(tx).toString('base64'), rxLen };
    const call = {
      caller: { kind: 'operator', id: 'operator' },
      signal: new AbortController().signal,
      deadline: Date.now() + 10_000,
    } as const;
    const { rx } = (await core.service(operations).invoke('spi.transfer', params, call)) as { rx: string };
    return Buffer.from(rx, 'base64');
  };
  return { core, transfer };
}

suite('SPI through the whole bridge', () => {
  test('the flash tells its id and the loopback gives back what was sent, side by side', async () => {
    const { core, transfer } = await withBridge();
    await using _ = core;
    const pattern = Buffer.from(Array.from({ length: 1_000 }, (_, index) => index % 251));
    const slow = Promise.all(Array.from({ length: 8 }, () => transfer('slow', pattern, 1_000)));
    for (let index = 0; index < 20; index++) {
      assert.deepEqual(await transfer('flash', Buffer.of(0x9f), 4), Buffer.from([0xff, 0xef, 0x40, 0x14]));
    }
    for (const rx of await slow) assert.deepEqual(rx, pattern);
    const [flash] = await core.service(spi).handles();
    assert.deepEqual([flash?.transfers, flash?.errors, flash?.inFlight], [20, 0, 0]);
  });

  test('a refusal of the bridge comes back in the codes of the specification', async () => {
    const { core, transfer } = await withBridge();
    await using _ = core;
    assert.equal(await codeOf(transfer('fast', Buffer.of(1), 1)), 'INVALID_SPEED');
    assert.equal(await codeOf(transfer('lost', Buffer.of(1), 1)), 'TRANSFER_FAILED');
  });

  test('without its bridge the operation stays and says so, and works again when the bridge is back', async () => {
    const { core, transfer } = await withBridge();
    await using _ = core;
    const manager = core.service(pluginManager);
    await manager.disable('cbp');
    assert.equal(await codeOf(transfer('flash', Buffer.of(0x9f), 4)), 'NOT_INITIALIZED');
    await manager.enable('cbp');
    for (let tries = 0; tries < 100; tries++) {
      try {
        assert.equal((await transfer('flash', Buffer.of(0x9f), 4)).length, 4);
        return;
      } catch (error) {
        assert.ok(error instanceof CoreError && error.code === 'NOT_INITIALIZED', String(error));
        await pace(50);
      }
    }
    assert.fail('the bridge did not come back');
  });
});
