/** The start of the whole simulated device, ended at any moment, leaves neither a server, a timer, a process nor a socket behind. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { resolveSku } from '../../kernel/boot/check.ts';
import { openLog } from '../../kernel/boot/log.ts';
import { Kernel } from '../../kernel/kernel.ts';
import { runs } from '../fixtures/runs.ts';

after(leakCheck());

const SKU = join(import.meta.dirname, '../../manifests/skus/simulator.yaml');
const root = mkdtempSync(join(tmpdir(), 'es-'));
after(() => rmSync(root, { recursive: true, force: true }));
const paths = { etc: join(root, 'etc'), var: join(root, 'var'), run: join(root, 'run') };

const sockets = (folder: string) =>
  readdirSync(folder, { recursive: true }).filter((name) => /\.sock$/.test(`${name}`));

/** Ends the start when so many plugins are active, and some turns of the event loop later. */
async function endedAt(active: number, turns: number): Promise<void> {
  const resolved = resolveSku(SKU, [{ plugin: 'http', key: 'port', value: 0 }]);
  const { log, control: logs } = openLog({ to: join(root, 'core.log'), level: 'info', stderr: false });
  const kernel = new Kernel({ resolved, paths, log, logs });
  let over = false;
  const started = kernel.start().finally(() => {
    over = true;
  });
  const reached = async () =>
    (await kernel.status()).plugins.filter(({ state }) => state === 'active').length >= active;
  while (!over && !(await reached())) await new Promise((resolve) => setImmediate(resolve));
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
  await kernel.stop();
  await started;
  const { plugins } = await kernel.status();
  const told = plugins.flatMap(({ id, lastError }) => (lastError ? [`${id}: ${lastError.message}`] : []));
  assert.deepEqual(told, [], `ended when ${active} were active`);
  assert.deepEqual(sockets(paths.run), [], `ended when ${active} were active`);
}

test('a start that is ended leaves nothing behind, and the next one runs', async () => {
  await fc.assert(fc.asyncProperty(fc.nat(41), fc.nat(30), endedAt), { numRuns: runs(60) });
});
