import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { Secret } from '@device-core/plugin-api';
import { flags } from '@device-core/plugin-api/services/flags';
import { operations } from '@device-core/plugin-api/services/operations';
import { secrets } from '@device-core/plugin-api/services/secrets';
import { type MetricSource, metrics } from '@device-core/plugin-api/telemetry';
import { checkManifest, createTestHost, given, TestOperations } from '@device-core/plugin-api/testing';
import { plugin } from './index.ts';

const manifest = join(import.meta.dirname, 'plugin.yaml');
const nothing = { [Symbol.dispose]: () => undefined };

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

test('a flag makes it short, a secret signs it, and a metric counts it', async () => {
  const table = new TestOperations();
  const sources: MetricSource[] = [];
  await using host = await createTestHost(plugin, {
    manifest,
    config: { signWith: { secret: 'greeting.key' } },
    services: [
      [operations, table],
      given(flags, {
        watch: async (_, listener) => {
          listener(true);
          return nothing;
        },
      }),
      given(secrets, { get: async () => new Secret('greeting.key', async () => 'correct horse') }),
      given(metrics, {
        register: async (source) => {
          sources.push(source);
          return nothing;
        },
      }),
    ],
  });
  await host.settle();
  const { text, signature } = await table.run('pluginId.greet', { name: 'Ada' });
  assert.equal(text, 'Hello!');
  assert.match(String(signature), /^[0-9a-f]{64}$/);
  const [counted] = (await sources[0]?.collect()) ?? [];
  assert.deepEqual([counted?.name, counted?.points[0]?.value], ['device.plugin_id.greetings', 1]);
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
