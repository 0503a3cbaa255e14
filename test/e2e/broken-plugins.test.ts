/** One bad plugin never takes down the page on which it is switched off: each plugin of the simulator in turn fails when it starts. Costs whole Cores, and each of the simulator’s plugins twice in one of them. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { CoreError, PluginManifest, SkuManifest, SkuPlugin } from '@device-core/plugin-api';
import { type PluginStatus, pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { manifestInTree } from '@device-core/plugin-api/inside/tree';
import { leakCheck } from '@device-core/plugin-api/testing';
import { parse, stringify } from 'yaml';
import { type Core, startCore } from '../fixtures/core.ts';

const ROOT = join(import.meta.dirname, '../..');
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
function broken(id: string, module: string, configured = false): SkuPlugin {
  const { config, isolation: _, programs: __, ...manifest }: PluginManifest = read(manifestInTree(ROOT, id)!);
  const at = mkdtempSync(join(folder, `${id}-`));
  mkdirSync(at, { recursive: true });
  writeFileSync(
    join(at, 'plugin.yaml'),
    stringify({ ...manifest, id, main: 'index.js', ...(configured ? { config } : {}) }),
  );
  writeFileSync(join(at, 'index.js'), module);
  return { version: '*', path: at, isolation: 'inline', essential: lines[id]?.essential ?? false };
}

const start = (id: string, line: SkuPlugin): Promise<Core> =>
  startCore({ plugins: { ...lines, [id]: line }, config: id === 'http' ? { http: {} } : {} });

/** Others wait for these: they are also broken from the start, in both ways. */
const MATTER = ['rpc', 'config', 'speech'];
const SWITCH = Symbol.for('device-core.test.broken');
const switches = globalThis as { [SWITCH]?: string | undefined };

/** The SKU line of the plugin itself, which throws at its setup while the switch names it. */
function breakable(id: string): SkuPlugin {
  const { main } = read(manifestInTree(ROOT, id)!) as PluginManifest;
  const real = pathToFileURL(resolve(dirname(manifestInTree(ROOT, id)!), main)).href;
  const { config } = lines[id]!;
  return {
    ...broken(
      id,
      `import { plugin as real } from ${JSON.stringify(real)};
export const plugin = { ...real, setup(...given) {
  if (globalThis[Symbol.for('device-core.test.broken')] === ${JSON.stringify(id)}) throw new Error('broken for a test');
  return real.setup(...given);
} };`,
      true,
    ),
    ...(config ? { config } : {}),
  };
}

async function assertCanBeSwitchedOff(core: Core, id: string): Promise<void> {
  const health = await ask(core, 'GET', '/health');
  assert.deepEqual([health.status, health.body.status], [200, 'degraded']);
  assert.match(health.body.components[id]?.message ?? '', /broken for a test/);
  const disabled = await ask(core, 'POST', `/plugins/${id}/disable`);
  assert.deepEqual([disabled.status, disabled.body.plugin?.state], [200, 'stopped']);
  const { plugins = [] } = (await ask(core, 'GET', '/plugins')).body;
  for (const plugin of plugins) if (plugin.state !== 'active') assert.match(plugin.reason ?? '', /./, plugin.id);
  for (const { id: other, state } of plugins) assert.notEqual(state, 'failed', other);
}

describe('with one plugin that is not essential broken', () => {
  const others = Object.keys(lines).filter((id) => !lines[id]?.essential);
  for (const id of MATTER)
    for (const [what, module] of Object.entries(FAULTS))
      test(`${id} ${what}: health, HTTP and switching it off keep working`, async () => {
        await using core = await start(id, broken(id, module));
        await assertCanBeSwitchedOff(core, id);
      });

  test('any of them that fails when it starts again: the same', { timeout: 300_000 }, async (t) => {
    const shaky = Object.fromEntries(
      Object.keys(lines).map((id) => [id, others.includes(id) ? breakable(id) : lines[id]!]),
    );
    await using core = await startCore({ plugins: shaky });
    const manager = core.service(pluginManager);
    for (const id of others)
      await t.test(id, async () => {
        switches[SWITCH] = id;
        await manager.restart(id).catch((error: Error) => assert.match(error.message, /broken for a test/));
        await assertCanBeSwitchedOff(core, id);
        switches[SWITCH] = undefined;
        await ask(core, 'POST', `/plugins/${id}/enable`);
        const { plugins = [] } = (await ask(core, 'GET', '/plugins')).body;
        const not = plugins.filter(({ state }) => state !== 'active');
        assert.deepEqual(not, []);
      });
  });

  test('a configuration that is refused stops the Core before anything runs, and names each line', async () => {
    const nonsense = ([id, line]: [string, SkuPlugin]) => [id, { ...line, config: { ...line.config, nonsense: 1 } }];
    const plugins: Readonly<Record<string, SkuPlugin>> = Object.fromEntries(Object.entries(lines).map(nonsense));
    const ids = Object.keys(lines);
    await assert.rejects(startCore({ plugins }), (error: CoreError) => {
      assert.equal(error.code, 'SKU_INVALID');
      const problems = JSON.stringify(error.details);
      for (const id of ids) assert.match(problems, new RegExp(`configuration ${id}\\b[^"]*nonsense`));
      return true;
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
