import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { checkManifest, createTestHost, type TestHost } from '@device-core/plugin-api/testing';
import { plugin } from './index.ts';

const manifest = join(import.meta.dirname, 'plugin.yaml');
const TOPIC = 'plugin.plugin-id.tally';

/** The counts that it published, added up, once there are `total` of them. */
async function tallied(host: TestHost, total: number): Promise<Record<string, number>> {
  const deadline = AbortSignal.timeout(5_000);
  for (;;) {
    const sums: Record<string, number> = {};
    for (const { topic, payload } of host.published) {
      if (topic !== TOPIC) continue;
      const { counts } = payload as { readonly counts: Readonly<Record<string, number>> };
      for (const [name, count] of Object.entries(counts)) sums[name] = (sums[name] ?? 0) + count;
    }
    if (Object.values(sums).reduce((sum, count) => sum + count, 0) >= total) return sums;
    deadline.throwIfAborted();
    await delay(5);
  }
}

test('manifest and plugin agree', () => {
  assert.deepEqual(checkManifest(manifest, plugin), []);
});

test('counts the events that match, and leaves nothing behind', async () => {
  await using host = await createTestHost(plugin, { manifest, config: { everyMs: 10 } });
  for (const topic of ['app.state', 'app.state', 'system.power', 'app.com_example.event.tea']) host.publish(topic, {});
  assert.deepEqual(await tallied(host, 3), { 'app.state': 2, 'app.com_example.event.tea': 1 });
  await host.stop();
  assert.deepEqual(host.leaks(), []);
});

test('says nothing while nothing happens', async () => {
  await using host = await createTestHost(plugin, { manifest, config: { everyMs: 10 } });
  await delay(50);
  assert.deepEqual(host.published, []);
});
