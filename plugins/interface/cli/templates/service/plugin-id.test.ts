import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkManifest, createTestHost } from '@device-core/plugin-api/testing';
import { pluginIdService } from './contract.ts';
import { plugin } from './index.ts';

const manifest = join(import.meta.dirname, 'plugin.yaml');

test('manifest and plugin agree', () => {
  assert.deepEqual(checkManifest(manifest, plugin), []);
});

test('counts, tells who watches, and leaves nothing behind', async () => {
  await using host = await createTestHost(plugin, { manifest });
  const counter = host.service(pluginIdService);
  const told = Promise.withResolvers<[string, number]>();
  const watching = counter.watch((...news) => told.resolve(news));
  assert.equal(await counter.count('tea'), 1);
  assert.deepEqual(await told.promise, ['tea', 1]);
  watching[Symbol.dispose]();
  assert.equal(await counter.count('tea'), 2);
  await host.stop();
  assert.deepEqual(host.leaks(), []);
});

test('refuses an empty name, and one name too many', async () => {
  await using host = await createTestHost(plugin, { manifest, config: { limit: 1 } });
  const counter = host.service(pluginIdService);
  await assert.rejects(counter.count(''), { code: 'PARAMS_INVALID' });
  await counter.count('tea');
  await assert.rejects(counter.count('milk'), { code: 'PARAMS_INVALID', message: /1 names are the limit/ });
});
