/** Whatever keeps the device from starting: safe mode comes up on the same root, says what it was, and switches it off. Costs processes: Cores that crash, hang and start again. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { CoreProcess, TemporaryRoot } from '../fixtures/core-process.ts';
import { eventually, pace } from '../fixtures/eventually.ts';

const ESSENTIAL = ['operations', 'identity', 'system', 'http'];
const SAFE = [
  ...ESSENTIAL,
  ...['boot', 'changes', 'cli', 'display', 'logs', 'plugin-store', 'render-soft', 'system-view', 'systemd'],
].sort();

/** The SKU of a device with one plugin from outside the tree, in the Core's own process. */
function device(root: string, module: string): string {
  const folder = join(root, 'bad-plugin');
  mkdirSync(folder);
  writeFileSync(join(folder, 'index.js'), module);
  const manifest = 'id: bad\nversion: 1.0.0\nsummary: for a test\napi: ^1.0.0\nmain: index.js\n';
  writeFileSync(join(folder, 'plugin.yaml'), manifest);
  const lines = ESSENTIAL.map((id) => `  ${id}: { version: ^1.0.0, essential: true }\n`).join('');
  const bad = '  bad: { version: ^1.0.0, path: bad-plugin, isolation: inline }\n';
  const file = join(root, 'sku.yaml');
  writeFileSync(file, `skuVersion: 1\nid: test\ntitle: Test device\nplugins:\n${lines}${bad}`);
  return file;
}

/** Safe mode of this root does all that it is there for. */
async function safeMode(root: string): Promise<CoreProcess> {
  const core = await CoreProcess.start(root, '--safe-mode', '--port', '0');
  const health = await core.get('/health');
  assert.equal(health.body.status, 'ok', JSON.stringify(health.body));
  const { body } = await core.get('/plugins');
  const states = body.plugins.map(({ id, state }: { id: string; state: string }) => `${id} ${state}`);
  assert.deepEqual(
    states.sort(),
    SAFE.map((id) => `${id} active`),
  );
  assert.ok((await core.get('/logs')).body.entries.length > 0);
  return core;
}

async function lastStart(core: CoreProcess) {
  return (await core.get('/logs/last-start')).body.lastStart;
}

/** Waits until the log of a Core that cannot speak says that this plugin's setup began. */
async function hangsIn(core: CoreProcess, plugin: string): Promise<void> {
  const log = join(core.root, 'var/log/core.log');
  const begun = () => existsSync(log) && readFileSync(log, 'utf8').includes(`"plugin":"${plugin}"`);
  await eventually(() => {
    if (core.process.exitCode !== null) throw new Error(core.err);
    return begun();
  }, `the setup of ${plugin}`);
  await pace(1_000); // a plugin that hangs says nothing more: the record of the start is on the disk by then
}

const MODULES: Readonly<Record<string, { readonly module: string; readonly hangs?: true; readonly outcome: string }>> =
  {
    'ends the process in its setup': {
      module: 'export const plugin = { setup: () => process.exit(1) };',
      outcome: 'crashed',
    },
    'ends the process when it is imported': {
      module: 'process.exit(0);\nexport const plugin = { setup: () => undefined };',
      outcome: 'crashed',
    },
    'never returns from its setup': {
      module: 'export const plugin = { setup: () => { for (;;); } };',
      hangs: true,
      outcome: 'unfinished',
    },
    'never finishes being imported': { module: 'for (;;);', hangs: true, outcome: 'unfinished' },
    'kills the process': {
      module: "export const plugin = { setup: () => process.kill(process.pid, 'SIGKILL') };",
      outcome: 'unfinished',
    },
  };

describe('safe mode after a plugin of the SKU', () => {
  for (const [what, { module, hangs, outcome }] of Object.entries(MODULES))
    test(`that ${what}: it is named, switched off, and the device starts without it`, async () => {
      using root = new TemporaryRoot();
      const args = ['--sku', device(root.path, module), '--no-tcp'];
      await using broken = new CoreProcess(root.path, args);
      if (hangs) {
        await hangsIn(broken, 'bad');
        await broken.stop('SIGKILL');
      } else await broken.ended;

      await using safe = await safeMode(root.path);
      const last = await lastStart(safe);
      assert.equal(last.outcome, outcome, JSON.stringify(last));
      // Nothing says which of those that are imported at once hangs.
      if (what === 'never finishes being imported') assert.ok(last.suspects.includes('bad'), last.suspects.join());
      else assert.equal(last.suspects[0], 'bad', last.suspects.join());
      const { warnings } = (await safe.get('/health')).body;
      assert.match(warnings.find(({ code }: { code: string }) => code === 'LAST_START').message, /\bbad\b/);
      assert.equal((await safe.post('/plugins/bad/switch', { enabled: false })).status, 200);
      assert.equal(await safe.stop(), 0);

      await using again = await CoreProcess.start(root.path, ...args);
      const bad = (await again.get('/plugins')).body.plugins.find(({ id }: { id: string }) => id === 'bad');
      assert.equal(bad.state, 'stopped');
      assert.equal((await again.get('/health')).body.status, 'ok');
    });

  test('that has a syntax error: the Core is degraded, and safe mode tells of it', async () => {
    using root = new TemporaryRoot();
    await using core = await CoreProcess.start(
      root.path,
      ...['--sku', device(root.path, 'export const plugin = {{'), '--no-tcp'],
    );
    assert.equal((await core.get('/health')).body.status, 'degraded');
    assert.equal(await core.stop('SIGKILL'), 'SIGKILL');
    await using safe = await safeMode(root.path);
    const last = await lastStart(safe);
    assert.deepEqual([last.outcome, last.suspects], ['killed', ['bad']]);
    assert.match(JSON.stringify(last.problems), /Unexpected token/);
  });
});

describe('safe mode beside', () => {
  const SKUS: Readonly<Record<string, string | undefined>> = {
    'a SKU that is no YAML': 'skuVersion: [1\n\tplugins',
    'a SKU of another form': 'skuVersion: 2\nid: test\ntitle: Test\nplugins: {}\n',
    'a SKU that is not there': undefined,
  };
  for (const [what, text] of Object.entries(SKUS))
    test(`${what}: the reason is in the log`, async () => {
      using root = new TemporaryRoot();
      const sku = join(root.path, 'sku.yaml');
      if (text !== undefined) writeFileSync(sku, text);
      await using broken = new CoreProcess(root.path, ['--sku', sku]);
      assert.equal(await broken.ended, 1);
      await using safe = await safeMode(root.path);
      const last = await lastStart(safe);
      assert.equal(last.outcome, 'refused');
      assert.match(last.problems[0].message, /sku\.yaml:\d+: SKU_INVALID /);
    });

  test('a damaged list of installed plugins: it is set aside and told', async () => {
    using root = new TemporaryRoot();
    const folder = join(root.path, 'var/plugins');
    mkdirSync(folder, { recursive: true });
    for (const name of ['installed.yaml', 'installed.yaml.last-good'])
      writeFileSync(join(folder, name), 'format: 1\nplugins: { bad: [\0');
    await using safe = await safeMode(root.path);
    const { warnings } = (await safe.get('/health')).body;
    assert.ok(
      warnings.some(({ code }: { code: string }) => code === 'STATE_CORRUPT'),
      JSON.stringify(warnings),
    );
    assert.equal((await safe.post('/plugins/spi/switch', { enabled: false })).status, 200);
    assert.deepEqual((await safe.get('/plugins/installed')).body.disabled, ['spi']);
    assert.equal((await safe.post('/plugins/http/switch', { enabled: false })).body.code, 'PLUGIN_CONFLICT');
  });

  test('a TCP port that another program has: it serves the Unix socket', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as { port: number };
    try {
      using root = new TemporaryRoot();
      await using safe = await CoreProcess.start(root.path, '--safe-mode', '--port', String(port));
      const { body } = await safe.get('/health');
      assert.equal(body.status, 'ok');
      assert.equal(body.warnings[0].code, 'TCP_UNAVAILABLE');
    } finally {
      other.close();
    }
  });

  test('a --sku that the start brings along: it is not looked at', async () => {
    using root = new TemporaryRoot();
    await using safe = await CoreProcess.start(root.path, '--sku', 'nowhere.yaml', '--safe-mode', '--no-tcp');
    assert.equal((await safe.get('/version')).body.sku.id, 'safe-mode');
  });
});
