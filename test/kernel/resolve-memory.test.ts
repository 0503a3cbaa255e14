/** What a resolve of a SKU leaves in memory: nothing. Measured under forced collection. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { resolveSku } from '../../kernel/boot/check.ts';
import { heapUsed } from '../fixtures/heap.ts';

const RESOLVES = 50;
/** It was about a megabyte each; what is left is noise of the collector. */
const MOST_BYTES = 20 * 1024;

for (const [title, edited] of [
  ['as it is', false],
  ['that is edited each time', true],
] as const)
  test(`resolving a SKU ${title} keeps nothing`, async (context) => {
    const folder = mkdtempSync(join(tmpdir(), 'dc-resolve-'));
    try {
      const sku = join(folder, 'sku.yaml');
      const text = readFileSync(new URL('../../manifests/skus/simulator.yaml', import.meta.url), 'utf8');
      const resolve = (count: number) => {
        for (let index = 0; index < count; index++) {
          writeFileSync(sku, edited ? text.replace('Simulated device', `Device ${index}`) : text);
          const { plugins, problems } = resolveSku(sku);
          assert.ok(plugins.length > 30, JSON.stringify(problems));
        }
      };
      resolve(10);
      const before = await heapUsed();
      resolve(RESOLVES);
      const each = ((await heapUsed()) - before) / RESOLVES;
      context.diagnostic(`${Math.round(each)} bytes each`);
      assert.ok(each < MOST_BYTES, `each resolve keeps ${Math.round(each)} bytes`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
