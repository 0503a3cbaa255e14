/** Each SKU of the bench starts and all of it becomes active. Costs processes: a whole Core for each. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { BENCH_SKUS, placed } from '../bench/sku-data.ts';
import { Workload } from '../bench/workloads/written-plugins.ts';
import { CoreProcess, TemporaryRoot } from '../fixtures/core-process.ts';

const FROZEN = join(import.meta.dirname, '../bench/skus');

async function starts(root: string, sku: string): Promise<void> {
  await using core = await CoreProcess.start(root, '--sku', sku, '--no-tcp');
  const { body } = await core.get('/plugins');
  const idle = body.plugins.filter(({ state }: { readonly state: string }) => state !== 'active');
  assert.deepEqual(idle, []);
}

describe('a SKU of the bench starts whole:', () => {
  for (const [name, make] of Object.entries(BENCH_SKUS))
    test(name, async () => {
      using root = new TemporaryRoot();
      await starts(root.path, placed(root.path, make(root.path)));
    });

  for (const name of readdirSync(FROZEN))
    test(name, async () => {
      using root = new TemporaryRoot();
      await starts(root.path, join(FROZEN, name));
    });

  test('written plugins', async () => {
    using root = new TemporaryRoot();
    using work = new Workload(8, { last: 'process' });
    await starts(root.path, work.sku);
  });
});
