/** The updater inline, in a worker and in a process: the same answers. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { machine } from '@device-core/plugin-api/inside/services/machine';
import { pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { slots } from '@device-core/plugin-api/inside/services/slots';
import { updates } from '@device-core/plugin-api/inside/services/updates';
import { operations } from '@device-core/plugin-api/services/operations';
import { createTestHost, given, leakCheck, TestOperations } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/life/updater/index.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { FakeSlots } from '../../fixtures/fake-slots.ts';
import { writeImageFolder } from '../../fixtures/image-folder.ts';
import { FILES, KEY, MANIFEST } from './device.ts';

after(leakCheck());

describe('the updater', () => {
  it('stages an image and asks for the restart, wherever it runs', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'dl-'));
    const fake = new FakeSlots();
    const table = new TestOperations();
    const host = await createTestHost(plugin, {
      manifest: MANIFEST,
      config: { keepFreeMB: 0 },
      services: [
        given(pluginManager, {
          list: async () => [],
          eventLoop: async () => ({ p50Ms: 1, p99Ms: 2, maxMs: 3, utilization: 0, stalls: 0, unattributed: 0 }),
        }),
        [operations, table],
        [machine, fake],
        [slots, fake],
      ],
    });
    try {
      await host.hook('kernel.ready').promise();
      const lease = await host.service(updates).inhibit('plugin.voice', 'a call', 60_000);
      writeImageFolder(folder, FILES, KEY, { version: '1.1.0' });
      await eventually(() => table.names.includes('update.install'), 'the operations');
      await table.run('update.install', { source: folder });
      await eventually(async () => (await host.service(updates).state()).state === 'waiting', 'that it waits');
      assert.equal((await table.run('update.why', {})).rule, 'lease');
      await host.service(updates).release(lease.id);
      await eventually(() => fake.calls.includes('restart'), 'the restart');
      await eventually(() => host.published.some(({ topic }) => topic === 'update.state'), 'the event');
      assert.equal((await host.service(updates).state()).state, 'activating');
    } finally {
      await host[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
    }
  });
});
