/** One bad plugin never takes down the page on which it is switched off: each plugin of the simulator in turn fails at its start. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import {
  type PluginManifest,
  type PluginStatus,
  pluginManager,
  type SkuManifest,
  type SkuPlugin,
} from '@device-core/plugin-api';
import { leakCheck } from '@device-core/plugin-api/testing';
import { treeManifests } from '@device-core/plugin-api/tree';
import { parse, stringify } from 'yaml';
import { type Core, startCore } from '../fixtures/core.ts';

const ROOT = join(import.meta.dirname, '../..');
const TREE = treeManifests(ROOT);
const read = (file: string) => parse(readFileSync(file, 'utf8'));
const sku: SkuManifest = read(join(ROOT, 'manifests/skus/simulator.yaml'));
const lines = Object.fromEntries(
  Object.entries(sku.plugins).map(([id, line]) => [id, typeof line === 'string' ? { version: line } : line]),
) as Readonly<Record<string, SkuPlugin>>;
const folder = mkdtempSync(join(tmpdir(), 'broken-'));
after(() => rmSync(folder, { recursive: true }));
after(leakCheck());

const FAULTS: Readonly<Record<string, string>> = {
  'throws at setup': "export const plugin = { setup: () => { throw new Error('broken for a test'); } };",
  'throws when it is imported': "throw new Error('broken for a test');",
};

/** The SKU line of a plugin of this id that claims the same services, hooks and taps, and is broken; inline, where it can do most harm. */
function broken(id: string, module: string): SkuPlugin {
  const { config: _, isolation: __, ...manifest }: PluginManifest = read(TREE.get(id)!);
  const at = mkdtempSync(join(folder, `${id}-`));
  mkdirSync(at, { recursive: true });
  writeFileSync(join(at, 'plugin.yaml'), stringify({ ...manifest, main: 'index.js' }));
  writeFileSync(join(at, 'index.js'), module);
  return { version: '*', path: at, isolation: 'inline', essential: lines[id]?.essential ?? false };
}

const start = (id: string, line: SkuPlugin): Promise<Core> =>
  startCore({ plugins: { ...lines, [id]: line }, config: id === 'http' ? { http: {} } : {} });

describe('with one plugin that is not essential broken', () => {
  for (const [id, { essential }] of Object.entries(lines)) {
    if (essential) continue;
    for (const [what, module] of Object.entries(FAULTS))
      test(`${id} ${what}: health, HTTP and switching it off keep working`, async () => {
        await using core = await start(id, broken(id, module));
        const health = await ask(core, 'GET', '/health');
        assert.deepEqual([health.status, health.body.status], [200, 'degraded']);
        assert.match(health.body.components[id]?.message ?? '', /broken for a test/);
        const disabled = await ask(core, 'POST', `/plugins/${id}/disable`);
        assert.deepEqual([disabled.status, disabled.body.plugin?.state], [200, 'stopped']);
        const { plugins = [] } = (await ask(core, 'GET', '/plugins')).body;
        for (const plugin of plugins) if (plugin.state !== 'active') assert.match(plugin.reason ?? '', /./, plugin.id);
        for (const { id: other, state } of plugins) assert.notEqual(state, 'failed', other);
      });
  }

  test('a configuration that is refused stops the Core before anything runs, and names the line', async () => {
    for (const id of Object.keys(lines))
      await assert.rejects(start(id, { ...lines[id]!, config: { ...lines[id]!.config, nonsense: 1 } }), {
        code: 'SKU_INVALID',
        message: new RegExp(`configuration ${id}\\b.*nonsense`),
      });
  });
});

/** What is left without an essential plugin: the kernel runs on and knows why, but nobody can ask it. Safe mode is the way out. */
describe('with one of the essential plugins broken', () => {
  for (const [id, { essential }] of Object.entries(lines)) {
    if (!essential) continue;
    test(`${id}: the Core says failed and why, and does not end`, async () => {
      await using core = await start(id, broken(id, FAULTS['throws at setup']!));
      const { state, plugins } = await core.kernel.status();
      assert.equal(state, 'failed');
      const status = plugins.find((one) => one.id === id);
      assert.equal(status?.state, 'failed');
      assert.match(status?.reason ?? '', /broken for a test/);
      assert.match(readFileSync(join(core.paths.var, 'log/core.log'), 'utf8'), /broken for a test/);
      assert.equal((await core.service(pluginManager).disable(id)).state, 'stopped');
    });
  }

  test('there are exactly four', () => {
    const ids = Object.keys(lines).filter((id) => lines[id]?.essential);
    assert.deepEqual(ids.sort(), ['http', 'identity', 'operations', 'system']);
  });
});

interface Answer {
  readonly status: number;
  readonly body: {
    readonly status?: string;
    readonly plugin?: PluginStatus;
    readonly plugins?: readonly PluginStatus[];
    readonly components: Readonly<Record<string, { readonly message?: string }>>;
  };
}

/** As the operator, over the shared Unix socket. */
function ask(core: Core, method: string, path: string): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const socketPath = join(core.paths.run, 'core.sock');
  const call = request({ socketPath, path, method, agent: false, timeout: 10_000 }, (response) => {
    let text = '';
    response.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
    });
    response.on('end', () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) }));
  });
  call.on('timeout', () => call.destroy(new Error(`no answer to ${path}`)));
  call.on('error', reject);
  call.end();
  return promise;
}
