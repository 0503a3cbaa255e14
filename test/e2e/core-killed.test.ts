/** A Core that is killed cannot end its apps: the next one does. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { WallMaker } from '@device-core/plugin-api/inside/services/launcher';
import { BEST_WALLS } from '../../kernel/walls/launcher.ts';
import { CONNECTED_AND_ANSWERS } from '../fixtures/answering.ts';
import { eventually } from '../fixtures/eventually.ts';
import { withoutWalls } from '../fixtures/walls.ts';

const CHECKOUT = resolve(import.meta.dirname, '../..');
const SKU = `
skuVersion: 1
id: test
title: Test
simulated: true
plugins: { operations: ^1.0.0, identity: ^1.0.0, system: ^1.0.0, rpc: ^1.0.0, supervisor-process: ^1.0.0, apps: { version: ^1.0.0, config: { insecure: true } } }
`;
const APP = `
manifestVersion: 1
id: com.example.stubborn
name: stubborn
version: 1.0.0
title: Stays although its socket is gone
exec: { command: node, args: [main.cjs] }
capabilities: []
`;
const STAYS = `process.on('SIGTERM', () => {});
${CONNECTED_AND_ANSWERS}
setInterval(() => {}, 1000);`;

const killed = async (context: TestContext, walls: WallMaker) => {
  const root = mkdtempSync(join(tmpdir(), 'dc-'));
  const folder = mkdtempSync(join(tmpdir(), 'app-'));
  writeFileSync(join(root, 'sku.yaml'), SKU);
  writeFileSync(join(folder, 'app.yaml'), APP);
  writeFileSync(join(folder, 'main.cjs'), STAYS);
  const cores: ChildProcess[] = [];
  const start = () => {
    const args = ['kernel/main.ts', '--sku', join(root, 'sku.yaml'), '--root', root, '--app', folder];
    const core = spawn(process.execPath, args, {
      cwd: CHECKOUT,
      stdio: 'ignore',
      env: { ...process.env, [BEST_WALLS]: walls },
    });
    cores.push(core);
    return core;
  };
  context.after(() => {
    for (const core of cores) core.kill('SIGKILL');
    rmSync(root, { recursive: true, force: true });
    rmSync(folder, { recursive: true, force: true });
  });
  const record = join(root, 'run/apps/stubborn/pid');
  const appOf = (not?: number) =>
    eventually(() => {
      const text = existsSync(record) ? readFileSync(record, 'utf8') : '';
      const pid = text ? Number(JSON.parse(text).pid) : undefined;
      return pid !== not && pid;
    }, 'the app');
  // Whoever adopts an orphan need not bury it at once.
  const alive = (pid: number) =>
    existsSync(`/proc/${pid}/stat`) && !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));

  const first = start();
  const orphan = await appOf();
  first.kill('SIGKILL');
  await once(first, 'exit');
  if (walls === 'none') assert.ok(alive(orphan), 'it runs on, as an orphan');
  else await eventually(() => !alive(orphan), 'the end of the app');

  const second = start();
  const successor = await appOf(orphan);
  assert.ok(!alive(orphan));
  assert.ok(alive(successor));
  second.kill('SIGTERM');
  await once(second, 'exit');
  assert.ok(!alive(successor), 'a Core that ends in order takes its apps along');
};

test('apps without walls of a Core that was killed are ended by the next one, which starts its own', (context) =>
  killed(context, 'none'));

for (const by of ['bubblewrap', 'namespaces'] as const)
  test(`apps inside walls by ${by} end with a Core that is killed`, { skip: withoutWalls(by) }, (context) =>
    killed(context, by),
  );
