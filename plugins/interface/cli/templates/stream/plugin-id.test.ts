import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { operations } from '@device-core/plugin-api/services/operations';
import { checkManifest, createTestHost, TestOperations } from '@device-core/plugin-api/testing';
import { plugin } from './index.ts';

const manifest = join(import.meta.dirname, 'plugin.yaml');

test('manifest and plugin agree', () => {
  assert.deepEqual(checkManifest(manifest, plugin), []);
});

for (const { title, chunks, expected } of [
  { title: 'text comes back in capitals', chunks: ['tea ', 'and milk'], expected: 'TEA AND MILK' },
  { title: 'a character cut in two stays whole', chunks: ['\xc3', '\xa4'], expected: 'Ä' },
  { title: 'an app that closes at once gets nothing', chunks: [], expected: '' },
]) {
  test(title, async () => {
    const table = new TestOperations();
    await using host = await createTestHost(plugin, { manifest, services: [[operations, table]] });
    const sent = await table.stream(
      'pluginId.capitals',
      {},
      chunks.map((chunk) => Buffer.from(chunk, 'latin1')),
    );
    assert.equal(Buffer.concat(sent).toString(), expected);
    await host.stop();
    assert.deepEqual(table.names, []);
    assert.deepEqual(host.leaks(), []);
  });
}
