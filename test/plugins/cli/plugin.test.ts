import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { type HttpServer, httpServer } from '@device-core/plugin-api/inside/services/http-server';
import { createTestHost, leakCheck } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/interface/cli/index.ts';
import { FakeCore } from './fake-core.ts';

const MANIFEST = 'manifests/plugins/interface/cli.yaml';
const run = promisify(execFile);

after(leakCheck());

/** A front end that listens there, and serves no pages. */
function at(...addresses: readonly string[]): HttpServer {
  const none = { [Symbol.dispose]: () => undefined };
  return { addresses: async () => addresses, mount: () => none, upgrade: () => none, door: () => none };
}

test('the launcher runs devicectl against this Core and leaves with the plugin', async () => {
  await using host = await createTestHost(plugin, { manifest: MANIFEST });
  const launcher = join(host.device.paths.run, 'devicectl');
  assert.equal((await stat(launcher)).mode & 0o777, 0o755);
  const refused = await run(launcher, ['plugins']).catch((error) => error);
  assert.match(refused.stderr, new RegExp(`unix:${host.device.paths.run}/core\\.sock: there is no socket`));
  await host.stop();
  assert.deepEqual(host.leaks(), []);
  assert.ok(!existsSync(launcher));
});

test('the launcher follows a shared socket that is elsewhere', async () => {
  await using core = await FakeCore.start({ 'GET /version': { ok: true } });
  await using host = await createTestHost(plugin, { manifest: MANIFEST });
  const launcher = join(host.device.paths.run, 'devicectl');
  await host.appear(httpServer, at(core.url, `unix:${join(core.root, 'core.sock')}`));
  const { stdout } = await run(launcher, ['plugins', '--json']);
  assert.equal(stdout, `${JSON.stringify(core.replies['GET /plugins'])}\n`);
  assert.deepEqual(await readdir(host.device.paths.run), ['devicectl']);
});

test('a Core that is named is the one that is asked, whichever launcher is called', async () => {
  await using host = await createTestHost(plugin, { manifest: MANIFEST });
  const launcher = join(host.device.paths.run, 'devicectl');
  await host.appear(httpServer, at('unix:/nowhere/of-the-launcher.sock'));
  const asked = async (...words: string[]) => {
    const refused = await run(launcher, ['plugins', ...words]).catch((error) => error);
    return /unix:(\S+):/.exec(refused.stderr)?.[1];
  };
  assert.equal(await asked(), '/nowhere/of-the-launcher.sock');
  assert.equal(await asked('--root', '/nowhere/other'), '/nowhere/other/run/core.sock');
  assert.equal(await asked('--root=/nowhere/other'), '/nowhere/other/run/core.sock');
  assert.equal(await asked('--run', '/nowhere/run'), '/nowhere/run/core.sock');
  assert.equal(await asked('--socket', '/nowhere/else.sock'), '/nowhere/else.sock');
  assert.equal(await asked('--run', '/nowhere/run', '--socket', '/nowhere/else.sock'), '/nowhere/else.sock');
});

test('the launcher can be left out', async () => {
  await using host = await createTestHost(plugin, { manifest: MANIFEST, config: { launcher: false } });
  assert.deepEqual(await readdir(host.device.paths.run), []);
});
