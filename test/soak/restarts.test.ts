/** A plugin that restarts again and again, at each level: nothing of a run is kept by the next. `DEVICE_SOAK=1` asks for 1,000 of each. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { after, test } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { startCore } from '../fixtures/core.ts';
import { heapUsed } from '../fixtures/heap.ts';

after(leakCheck());

const RESTARTS = process.env.DEVICE_SOAK === '1' ? 1_000 : 40;
/** Until everything that is compiled or made once is there. */
const WARM = RESTARTS / 2;
/** The collector's own noise, and what one restart may leave: 2 MiB of 1,000. */
const MOST_BYTES = 512 * 1024 + RESTARTS * 1_536;

for (const isolation of ['inline', 'worker', 'process'] as const)
  test(`a plugin that restarts at the level ${isolation} leaves nothing behind`, {
    timeout: 1_800_000,
  }, async (context) => {
    const plugins = { operations: '*', identity: '*', events: { version: '*', isolation } };
    await using core = await startCore({ plugins, logLevel: 'error' });
    const restart = async (times: number) => {
      for (let count = 0; count < times; count++)
        assert.equal((await core.kernel.restart('events')).state, 'active', `restart ${count}`);
      return { bytes: await heapUsed(), descriptors: readdirSync('/proc/self/fd').length };
    };
    const before = await restart(WARM);
    const now = await restart(RESTARTS);
    context.diagnostic(`${RESTARTS} restarts: ${Math.round((now.bytes - before.bytes) / 1024)} KiB are kept`);
    assert.ok(now.bytes - before.bytes <= MOST_BYTES, `${now.bytes - before.bytes} bytes are kept`);
    assert.ok(
      now.descriptors <= before.descriptors + 2,
      `${now.descriptors} descriptors, there were ${before.descriptors}`,
    );
  });
