import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { operations } from '@device-core/plugin-api';
import { checkManifest, createTestHost, TestOperations } from '@device-core/plugin-api/testing';
import { plugin } from './index.ts';

const manifest = join(import.meta.dirname, 'plugin.yaml');

test('manifest and plugin agree', () => {
  assert.deepEqual(checkManifest(manifest, plugin), []);
});

test('greets, and leaves nothing behind', async () => {
  const table = new TestOperations();
  await using host = await createTestHost(plugin, { manifest, services: [[operations, table]] });
  assert.deepEqual(await table.run('pluginId.greet', { name: 'Ada' }), { text: 'Hello, Ada!' });
  await host.stop();
  assert.deepEqual(table.names, []);
  assert.deepEqual(host.leaks(), []);
});

test('the greeting is a setting', async () => {
  const table = new TestOperations();
  const services = [[operations, table]] as const;
  await using _host = await createTestHost(plugin, { manifest, services, config: { greeting: 'Good morning' } });
  assert.deepEqual(await table.run('pluginId.greet', { name: 'Ada' }), { text: 'Good morning, Ada!' });
});

for (const [name, code] of [
  ['', 'PARAMS_INVALID'],
  ['nobody', 'UNAVAILABLE'],
]) {
  test(`the name "${name}" is answered with ${code}`, async () => {
    const table = new TestOperations();
    await using _host = await createTestHost(plugin, { manifest, services: [[operations, table]] });
    await assert.rejects(table.run('pluginId.greet', { name }), { code });
  });
}
