/** The same from outside: devicectl against a Core in a process of its own, which is also killed in the middle of it. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { json } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { parseInstalled, versionFolder, versionsOf } from '@device-core/plugin-api/inside/installed';
import { filesOf, PLUGIN_PACKAGE, readTree } from '@device-core/plugin-api/inside/packages';
import type { PluginStatus } from '@device-core/plugin-api/inside/services/plugin-manager';
import { stringify } from 'yaml';
import { eventually, pace } from '../fixtures/eventually.ts';
import { Packages } from '../fixtures/packages.ts';
import { devicectlProcess as devicectl } from '../plugins/cli/run-devicectl.ts';

const CHECKOUT = resolve(import.meta.dirname, '../..');
const ROUNDS = 10;
const packages = new Packages();
after(() => packages[Symbol.dispose]());

class CoreProcess implements AsyncDisposable {
  readonly root = mkdtempSync(join(tmpdir(), 'dc-'));
  #child: ChildProcess | undefined;

  constructor(store: object) {
    const plugins: Record<string, unknown> = { 'plugin-store': { version: '^1.0.0', config: store } };
    for (const id of ['operations', 'identity', 'system', 'changes']) plugins[id] = '^1.0.0';
    plugins.http = { version: '^1.0.0', config: { tcp: false } };
    const sku = { skuVersion: 1, id: 'test', title: 'Test', simulated: true, plugins };
    writeFileSync(join(this.root, 'sku.yaml'), stringify(sku));
  }

  /** Resolves when it has settled. */
  async start(): Promise<this> {
    const args = ['kernel/main.ts', '--sku', join(this.root, 'sku.yaml'), '--root', this.root];
    const child = spawn(process.execPath, args, { cwd: CHECKOUT, stdio: ['ignore', 'pipe', 'ignore'] });
    this.#child = child;
    let text = '';
    for await (const part of child.stdout.setEncoding('utf8')) {
      text += part;
      if (text.includes('Ctrl-C')) break;
    }
    assert.match(text, /SKU test/);
    return this;
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    if (this.#child?.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill(signal);
    await once(this.#child, 'exit');
  }

  /** Resolves with the status and the body; with status 0 when the Core goes away meanwhile. */
  call(method: string, path: string, body?: object): Promise<{ status: number; body: Record<string, unknown> }> {
    return new Promise((resolve) => {
      const gone = () => resolve({ status: 0, body: {} });
      const headers = { 'content-type': 'application/json' };
      const socketPath = join(this.root, 'run/core.sock');
      const call = request({ socketPath, method, path, headers, agent: false }, async (response) => {
        const answer = await json(response).catch(() => undefined);
        if (answer === undefined) gone();
        else resolve({ status: response.statusCode ?? 0, body: answer as Record<string, unknown> });
      });
      call.on('error', gone);
      call.end(body && JSON.stringify(body));
    });
  }

  /** Resolves with the state of the change in the end; undefined when the Core goes away meanwhile. */
  async install(source: string): Promise<string | undefined> {
    const { status, body } = await this.call('POST', '/plugins/install', { source });
    if (status === 0) return undefined;
    assert.equal(status, 202, JSON.stringify(body));
    return this.settled(String(body.change));
  }

  settled(id: string): Promise<string | undefined> {
    const look = async () => {
      const { status, body } = await this.call('GET', `/changes/${id}`);
      if (status === 0) return { state: undefined };
      return ['done', 'undone', 'failed'].includes(String(body.state)) && { state: String(body.state) };
    };
    return eventually(look, `the end of change ${id}`, { ms: 60_000, every: 5 }).then(({ state }) => state);
  }

  ctl(...args: string[]) {
    return devicectl([...args, '--root', this.root]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end('SIGKILL');
    rmSync(this.root, { recursive: true, force: true });
  }
}

test('devicectl installs, lists, disables, upgrades, rolls back and removes', async () => {
  await using core = await new CoreProcess({ probationMs: 100 }).start();
  const manifest = [
    'capabilities: [network.outbound]',
    'config: { type: object, additionalProperties: false, properties: { n: { type: integer }, s: { type: string } } }',
  ];
  const first = packages.tarball({ manifest });
  const checked = await core.ctl('plugin', 'install', first, '--check');
  assert.match(
    checked.stdout,
    /^guest 1\.0\.0 could be installed\nruns {5}process\nasks for network\.outbound\nfiles {4}sha256:/,
  );
  assert.match(checked.stdout, /^it holds network\.outbound\naccept {3}sha256:[0-9a-f]{64}$/m);
  assert.doesNotMatch((await core.ctl('plugin', 'list')).stdout, /guest/);
  const other = await core.ctl('plugin', 'install', first, '--yes', '--accept', `sha256:${'0'.repeat(64)}`);
  assert.match(other.stderr, /CLAIMS_UNACCEPTED/, 'a digest is the whole answer');

  const asked = await core.ctl('plugin', 'install', first, '--config', 'n=3');
  assert.match(asked.stderr, /CLAIMS_UNACCEPTED: .*it holds network\.outbound; .*accept: sha256:/);
  assert.doesNotMatch((await core.ctl('plugin', 'list')).stdout, /guest/);

  const installed = await core.ctl('plugin', 'install', first, '--yes', '--config', 'n=3', '--config', 's=word');
  assert.match(installed.stdout, /^guest 1\.0\.0 is active, on probation\n/, installed.stderr);
  const proven = /^guest +1\.0\.0 +active +process .*installed; for a test$/m;
  await eventually(async () => proven.test((await core.ctl('plugin', 'list')).stdout), 'the end of its probation');
  const audited = await core.ctl('plugin', 'audit');
  assert.match(audited.stdout, /^guest 1\.0\.0, level process, granted \d+ s ago by operator; counted for \d+ s$/m);
  assert.match(audited.stdout, /\(network\.outbound\) +not seen/);
  const listing = JSON.parse((await core.ctl('plugin', 'installed', '--json')).stdout);
  assert.deepEqual(listing.plugins[0].config, { n: 3, s: 'word' });

  assert.match((await core.ctl('plugin', 'disable', 'guest')).stdout, /^guest is stopped/);
  await core.end('SIGTERM');
  await core.start();
  assert.match((await core.ctl('plugins')).stdout, /^guest +1\.0\.0 +stopped/m);
  assert.match((await core.ctl('plugin', 'enable', 'guest')).stdout, /^guest is active/);

  const broken = packages.folder({ version: '2.0.0', manifest, code: "throw new Error('no such chip');" });
  const failed = await core.ctl('plugin', 'install', broken);
  assert.equal(failed.code, 1);
  assert.match(failed.stderr, /^devicectl: PLUGIN_ROLLED_BACK: .*no such chip.*; 1\.0\.0 runs again/);
  assert.match(
    (await core.ctl('plugin', 'list')).stdout,
    /^guest +1\.0\.0 .*installed; 2\.0\.0 was rolled back: .*no such chip/m,
  );

  await core.ctl('plugin', 'install', packages.folder({ version: '1.1.0', manifest }));
  await eventually(
    async () => !/probation/.test((await core.ctl('plugin', 'list')).stdout),
    'the end of its probation',
  );
  assert.match((await core.ctl('plugin', 'rollback', 'guest')).stdout, /^guest 1\.0\.0 is back$/m);
  assert.match((await core.ctl('plugin', 'remove', 'guest')).stdout, /^guest 1\.1\.0|^guest 1\.0\.0 was removed$/m);
  assert.doesNotMatch((await core.ctl('plugin', 'list')).stdout, /guest/);
});

test('a device that requires signatures takes what a trusted key signed, and nothing else', async () => {
  const pem = (type: 'public' | 'private', pair = generateKeyPairSync('ed25519')) =>
    type === 'public'
      ? pair.publicKey.export({ type: 'spki', format: 'pem' }).toString()
      : pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const trusted = generateKeyPairSync('ed25519');
  const keys = join(packages.root, 'keys');
  writeFileSync(keys, pem('private', trusted));
  writeFileSync(`${keys}.other`, pem('private'));
  await using core = await new CoreProcess({ signatures: 'require', trustedKeys: [pem('public', trusted)] }).start();
  const folder = packages.folder();
  const refusedWith = async (reason: RegExp) => {
    const { stderr } = await core.ctl('plugin', 'install', folder);
    assert.match(stderr, /^devicectl: SIGNATURE_INVALID: /);
    assert.match(stderr, reason);
  };
  await refusedWith(/it is not signed/);
  assert.equal((await devicectl(['plugin', 'sign', folder, '--key', `${keys}.other`])).code, 0);
  await refusedWith(/does not trust/);
  assert.match((await devicectl(['plugin', 'sign', folder, '--key', keys])).stdout, /^plugin\.sig signs sha256:/);
  writeFileSync(join(folder, 'more.mjs'), '');
  await refusedWith(/of other files/);
  rmSync(join(folder, 'more.mjs'));
  const taken = await core.ctl('plugin', 'install', folder);
  assert.match(taken.stdout, /signed by sha256:/, taken.stderr);
  await core.end('SIGTERM');
  await core.start();
  assert.match((await core.ctl('plugin', 'list')).stdout, /^guest +1\.0\.0 +active/m);
  assert.match(
    (await devicectl(['plugin', 'sign', folder, '--key', join(folder, 'plugin.yaml')])).stderr,
    /no PEM key/,
  );
});

test('kill -9 at any moment of an installation leaves one whole version, old or new', async () => {
  await using core = await new CoreProcess({ probationMs: 50 }).start();
  const place = join(core.root, 'var/plugins');
  const acknowledged = new Set<string>(['not there']);
  let took = 0;
  for (let round = 1; round <= ROUNDS; round++) {
    const version = `1.${round}.0`;
    const file = packages.tarball({ version, files: { 'data.bin': 'x'.repeat(200_000 * round) } });
    const answer = core.install(file);
    // The first rounds tell how long it takes, the others end somewhere in it.
    const began = performance.now();
    await Promise.race([answer, pace(round <= 2 ? 10_000 : Math.random() * took)]);
    took = Math.max(took, performance.now() - began);
    await core.end('SIGKILL');
    if ((await answer) === 'done') acknowledged.add(version);
    await core.start();
    // What was cut off is taken back or goes on; neither leaves anything half.
    const { body: listed } = await core.call('GET', '/changes');
    for (const { id } of listed.changes as readonly { id: string }[])
      assert.match(String(await core.settled(id)), /^(done|undone)$/);

    const { body } = await core.call('GET', '/plugins');
    const guest = (body.plugins as readonly PluginStatus[]).find(({ id }) => id === 'guest');
    const running = guest ? guest.version : 'not there';
    assert.ok(acknowledged.has(running) || running === version, `${running} runs after round ${round}`);
    if (guest) assert.equal(guest.state, 'active', guest.reason);
    acknowledged.clear();
    acknowledged.add(running);

    const staged = existsSync(join(place, '.staging')) ? readdirSync(join(place, '.staging')) : [];
    assert.deepEqual(staged, [], 'nothing half unpacked is left');
    if (!existsSync(join(place, 'installed.yaml'))) continue;
    // A version that passes its probation just now takes files with it while somebody looks.
    await eventually(async () => {
      try {
        const { installed } = parseInstalled(readFileSync(join(place, 'installed.yaml'), 'utf8'), 'installed.yaml');
        const versions = installed.plugins.guest ? versionsOf(installed.plugins.guest) : [];
        const folders = existsSync(join(place, 'guest')) ? readdirSync(join(place, 'guest')) : [];
        const there = folders.filter((name) => !name.endsWith('.sha256')).sort();
        assert.deepEqual(there, [...new Set(versions.map(versionFolder))].sort());
        for (const one of versions) {
          const folder = join(place, 'guest', versionFolder(one));
          assert.equal((await readTree(PLUGIN_PACKAGE, folder, await filesOf(folder, 10), 1 << 30)).hash, one.hash);
        }
        return true;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
        throw error;
      }
    }, 'the whole files of the list, and no others');
  }
});
