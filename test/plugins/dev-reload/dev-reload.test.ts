import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { Isolation } from '@device-core/plugin-api';
import {
  type PluginManager,
  type PluginStatus,
  pluginManager,
} from '@device-core/plugin-api/inside/services/plugin-manager';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { createTestHost, leakCheck } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/life/dev-reload/index.ts';
import { eventually, pace, stays } from '../../fixtures/eventually.ts';

const MANIFEST = 'manifests/plugins/life/dev-reload.yaml';

after(leakCheck());

function status(id: string, isolation: Isolation, directory: string): PluginStatus {
  const fixed = { version: '1.0.0', summary: id, essential: false, since: 1, generation: 1 } as const;
  return { id, isolation, directory, state: 'active', ...fixed, provides: {}, requires: {}, holds: [] };
}

/** One plugin of each level, each in a folder of its own with one file. */
async function start() {
  const root = mkdtempSync(join(tmpdir(), 'dev-'));
  const place = (id: string) => `${join(root, id)}/`;
  const add = (id: string, isolation: Isolation) => {
    mkdirSync(join(root, id, 'node_modules'), { recursive: true });
    writeFileSync(join(root, id, 'index.ts'), '1');
    return status(id, isolation, place(id));
  };
  let list = [add('inside', 'inline'), add('thread', 'worker'), add('apart', 'process')];
  const restarted: string[] = [];
  const manager = {
    list: async () => list,
    async restart(id: string) {
      restarted.push(id);
      return list.find((one) => one.id === id);
    },
  } as Partial<PluginManager> as PluginManager;
  const host = await createTestHost(plugin, {
    manifest: MANIFEST,
    config: { quietMs: 120 },
    services: [[pluginManager, manager]],
  });
  await host.hook('kernel.ready').promise();
  await pace(300); // the watchers look around
  return {
    host,
    restarted,
    add,
    save: (path: string) => writeFileSync(join(root, path), String(Math.random())),
    set(next: PluginStatus[]) {
      list = next;
      host.publish('plugin.changed', { result: 'applied' });
    },
    get list() {
      return list;
    },
    async until(expected: readonly string[]) {
      await eventually(() => restarted.length >= expected.length, expected.join());
      await stays(() => restarted.length === expected.length, expected.join(), { ms: 300 });
      assert.deepEqual(restarted, expected);
    },
    async health() {
      const said: Record<string, string> = {};
      const report: HealthReport = {
        add(name, { message }) {
          if (name === 'walls') return; // of the kernel itself
          said[name] = message ?? '';
        },
        bridge: () => undefined,
        warn(code, message) {
          said[code] = message;
        },
      };
      await host.hook('health.collect').promise(report);
      return said;
    },
    async [Symbol.asyncDispose]() {
      await host.stop();
      assert.deepEqual(host.leaks(), []);
      rmSync(root, { recursive: true });
    },
  };
}

describe('dev-reload', () => {
  it('restarts the plugin whose files were saved, once for many saves', async () => {
    await using lab = await start();
    assert.deepEqual(await lab.health(), { 'dev-reload': 'watches apart, inside, thread' });
    for (const file of ['thread/index.ts', 'thread/other.ts', 'thread/index.ts']) lab.save(file);
    await lab.until(['thread']);
    lab.save('apart/index.ts');
    await lab.until(['thread', 'apart']);
  });

  it('names a plugin of this process instead: its module stays what it was', async () => {
    await using lab = await start();
    lab.save('inside/index.ts');
    await eventually(async () => (await lab.health()).RESTART_NEEDED, 'its name in the health');
    lab.save('inside/index.ts');
    await lab.until([]);
    assert.equal((await lab.health()).RESTART_NEEDED, 'inside changed on disk: restart the Core to run the new code');
    assert.equal(lab.host.logged.filter(({ level }) => level === 'warn').length, 1);
  });

  it('takes no notice of files beside the code of the plugin', async () => {
    await using lab = await start();
    lab.save('thread/node_modules/index.js');
    lab.save('thread/index.ts~');
    for (const file of ['sku.yaml', 'thread.test.ts', 'README.md']) {
      lab.save(`thread/${file}`);
      lab.save(`inside/${file}`);
    }
    await lab.until([]);
    assert.equal((await lab.health()).RESTART_NEEDED, undefined);
  });

  for (const [state, warnings] of [
    ['starting', 0],
    ['stopping', 0],
    ['failed', 1],
  ] as const)
    it(`tells of a plugin that is ${state} after the change ${warnings === 0 ? 'nothing' : 'once'}`, async () => {
      await using lab = await start();
      lab.set(lab.list.map((one) => ({ ...one, state })));
      lab.save('thread/index.ts');
      await lab.until(['thread']);
      assert.equal(lab.host.logged.filter(({ level }) => level === 'warn').length, warnings);
    });

  it('follows the set of plugins', async () => {
    await using lab = await start();
    const [inside, thread] = lab.list;
    lab.set([{ ...inside!, isolation: 'worker' }, lab.add('new', 'process')]);
    await pace(200); // the new watcher looks around
    lab.save('inside/index.ts');
    await lab.until(['inside']);
    lab.save('new/index.ts');
    await lab.until(['inside', 'new']);
    lab.save(`${thread!.id}/index.ts`);
    await lab.until(['inside', 'new']);
    assert.deepEqual(await lab.health(), { 'dev-reload': 'watches inside, new' });
  });
});
