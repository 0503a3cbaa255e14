/** A device whose plugin crashes: its safe mode says so on the panel, painted without any addon. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { CoreProcess, TemporaryRoot } from '../fixtures/core-process.ts';
import { eventually } from '../fixtures/eventually.ts';

const ESSENTIAL = ['operations', 'identity', 'system', 'http'];
/** The rest of the screen is safe mode's own. */
const GLASS = ['panel-headless', 'input-sim'];
const SCREEN = ['panel-headless', 'display', 'render-soft', 'input-sim', 'system-view'];

function device(root: string): string {
  const folder = join(root, 'bad-plugin');
  mkdirSync(folder);
  writeFileSync(join(folder, 'index.js'), 'export const plugin = { setup: () => process.exit(1) };');
  const manifest = 'id: bad\nversion: 1.0.0\nsummary: for a test\napi: ^1.0.0\nmain: index.js\n';
  writeFileSync(join(folder, 'plugin.yaml'), manifest);
  const sku = {
    skuVersion: 1,
    id: 'test',
    title: 'Test device',
    simulated: true,
    safeMode: GLASS,
    plugins: {
      ...Object.fromEntries(ESSENTIAL.map((id) => [id, { version: '^1.0.0', essential: true }])),
      ...Object.fromEntries(SCREEN.map((id) => [id, '^1.0.0'])),
      bad: { version: '^1.0.0', path: 'bad-plugin', isolation: 'inline' },
    },
  };
  const file = join(root, 'sku.yaml');
  writeFileSync(file, JSON.stringify(sku));
  return file;
}

test('safe mode names the plugin on the panel, and no program touches its button', async () => {
  using root = new TemporaryRoot();
  const args = ['--sku', device(root.path), '--no-tcp'];
  await using broken = new CoreProcess(root.path, args);
  await broken.ended;

  await using safe = await CoreProcess.start(root.path, ...args, '--safe-mode');
  const screen = async () => (await safe.get('/display/text')).body.text.join(' | ') as string;
  await eventually(async () => (await screen()).includes('[Switch off: bad]'), 'the screen');
  assert.match(await screen(), /Safe mode .*Most likely to blame: .*bad/);
  const { body } = await safe.get('/health');
  assert.equal(body.components.display.message, 'soft paints on headless');
  // Safe mode is no simulation: a touch by operation reaches nothing of the Core's own. A finger does (test/plugins/system-view).
  for (let time = 0; time < 3; time += 1)
    assert.equal((await safe.post('/display/input', { x: 360, y: 628 })).status, 200);
  assert.match(await screen(), /\[Switch off: bad\]/);
  assert.deepEqual((await safe.get('/plugins/installed')).body.disabled, []);
  assert.equal((await safe.post('/plugins/bad/switch', { enabled: false })).status, 200);
});
