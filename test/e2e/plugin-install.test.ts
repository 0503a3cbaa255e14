/** Plugins from outside the tree on a running Core: installed, proven, rolled back, removed, and there again after a restart. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Isolation } from '@device-core/plugin-api';
import { changes } from '@device-core/plugin-api/inside/services/changes';
import { operations } from '@device-core/plugin-api/services/operations';
import { leakCheck } from '@device-core/plugin-api/testing';
import { settledChange } from '../fixtures/changes.ts';
import { type Core, startCore } from '../fixtures/core.ts';
import { eventually } from '../fixtures/eventually.ts';
import { Packages, QUIET } from '../fixtures/packages.ts';

const PLUGINS = { operations: '^1.0.0', system: '^1.0.0', changes: '^1.0.0' };
const PROBATION_MS = 150;
/** Starts, and falls over a moment later. */
const SHAKY = "export const plugin = { setup() { setTimeout(() => { throw new Error('legs gave way'); }, 300); } };\n";
const BROKEN = "export const plugin = { setup() { throw new Error('no such chip'); } };\n";

interface Listing {
  readonly plugins: readonly {
    readonly id: string;
    readonly version: string;
    readonly state: string;
    readonly config: object;
  }[];
  readonly rolledBack: readonly { readonly id: string; readonly version: string; readonly reason: string }[];
}

const packages = new Packages();
after(() => packages[Symbol.dispose]());
after(leakCheck());

class Device implements AsyncDisposable {
  readonly root = mkdtempSync(join(tmpdir(), 'dc-'));
  core!: Core;

  /** `isolation` is that of the plugin-store itself. */
  async start(config: object = {}, isolation: Isolation = 'inline'): Promise<this> {
    const store = { version: '^1.0.0', isolation, config: { probationMs: PROBATION_MS, ...config } };
    this.core = await startCore({ plugins: { ...PLUGINS, 'plugin-store': store }, root: this.root });
    // It adds its operations when it hears of the table, which from another process takes a moment.
    const added = async () =>
      (await this.core.service(operations).list()).some(({ name }) => name === 'plugins.switch');
    await eventually(added, 'plugins.switch');
    return this;
  }

  async call(name: string, params: object = {}): Promise<Record<string, unknown>> {
    const signal = AbortSignal.timeout(20_000);
    const call = { caller: { kind: 'operator', id: 'operator' }, signal, deadline: Date.now() + 20_000 } as const;
    const answer = (await this.core.service(operations).invoke(name, params, call)) as Record<string, unknown>;
    if (typeof answer.change !== 'string') return answer;
    return settledChange(() => this.core.service(changes).get(String(answer.change)));
  }

  install(source: string, more: object = {}) {
    return this.call('plugins.install', { source, ...more });
  }

  async running(id = 'guest'): Promise<string> {
    const { plugins } = await this.core.kernel.status();
    const found = plugins.find((one) => one.id === id);
    return found ? `${found.version} ${found.state}` : 'not there';
  }

  rolledBack(id = 'guest'): Promise<true> {
    return eventually(
      async () => (await this.listing()).rolledBack.some((one) => one.id === id),
      `${id} that is rolled back`,
    );
  }

  async listing(): Promise<Listing> {
    return (await this.call('plugins.installed')) as unknown as Listing;
  }

  proven(id = 'guest'): Promise<true> {
    return eventually(
      async () => (await this.listing()).plugins.find((one) => one.id === id)?.state === 'good',
      `${id} past its probation`,
    );
  }

  /** Folders of versions, without the hash in their names. */
  versions(id = 'guest'): string[] {
    const folder = join(this.root, 'var/plugins', id);
    const names = existsSync(folder) ? readdirSync(folder) : [];
    return names
      .filter((name) => !name.endsWith('.sha256'))
      .map((name) => name.split('+')[0] ?? '')
      .sort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.core.stop();
    rmSync(this.root, { recursive: true, force: true });
  }
}

test('a folder is installed, runs, passes its probation and is there after a restart', async () => {
  await using device = await new Device().start();
  const { state, version } = await device.install(packages.folder());
  assert.deepEqual([state, version], ['probation', '1.0.0']);
  assert.equal(await device.running(), '1.0.0 active');
  await device.proven();
  await device.core.stop();
  await device.start();
  assert.equal(await device.running(), '1.0.0 active');
});

test('a tarball upgrades it, and the version before is kept', async () => {
  await using device = await new Device().start();
  await device.install(packages.tarball());
  await device.proven();
  const { former } = await device.install(packages.tarball({ version: '1.1.0' }));
  assert.equal(former, '1.0.0');
  await device.proven();
  assert.equal(await device.running(), '1.1.0 active');
  assert.deepEqual(device.versions(), ['1.0.0', '1.1.0']);
});

test('an upgrade that does not start leaves the version before running, and says why', async () => {
  await using device = await new Device().start();
  await device.install(packages.tarball());
  await device.proven();
  await assert.rejects(device.install(packages.tarball({ version: '1.1.0', code: BROKEN })), (error: Error) => {
    assert.equal((error as { code?: string }).code, 'PLUGIN_ROLLED_BACK');
    assert.match(error.message, /guest 1\.1\.0 failed its probation: .*no such chip.*; 1\.0\.0 runs again/);
    return true;
  });
  assert.equal(await device.running(), '1.0.0 active');
  assert.deepEqual(device.versions(), ['1.0.0']);
});

test('a version that fails during its probation is rolled back, and told in the list and in the health', async () => {
  await using device = await new Device().start({ probationMs: 60_000 });
  const manifest = ['config: { type: object, properties: { room: { type: string } } }'];
  await device.install(packages.tarball({ manifest }), { config: { room: 'kitchen' } });
  await device.install(packages.tarball({ version: '1.1.0', code: SHAKY, manifest }), { config: { room: 'hall' } });
  await device.rolledBack();
  // It had not passed its probation either; what matters is that it ran.
  await eventually(async () => (await device.running()) === '1.0.0 active', 'the version that ran before');
  assert.deepEqual((await device.listing()).plugins[0]?.config, { room: 'kitchen' });
  const { warnings = [] } = (await device.call('system.health')) as { warnings?: readonly Record<string, string>[] };
  const told = warnings.find(({ code }) => code === 'PLUGIN_ROLLED_BACK');
  assert.match(
    String(told?.message),
    /^plugin guest 1\.1\.0 failed its probation: .*legs gave way.*; 1\.0\.0 runs again$/,
  );
});

test('a plugin that is disabled stays so after a restart, until it is enabled', async () => {
  await using device = await new Device().start();
  await device.install(packages.folder());
  await device.proven();
  await device.call('plugins.switch', { id: 'guest', enabled: false });
  assert.equal(await device.running(), '1.0.0 stopped');
  await device.core.stop();
  await device.start();
  assert.equal(await device.running(), '1.0.0 stopped');
  await device.call('plugins.switch', { id: 'guest', enabled: true });
  assert.equal(await device.running(), '1.0.0 active');
});

test('a plugin that was removed is gone, with its files', async () => {
  await using device = await new Device().start();
  await device.install(packages.folder());
  await device.call('plugins.remove', { id: 'guest' });
  assert.equal(await device.running(), 'not there');
  assert.deepEqual(readdirSync(join(device.root, 'var/plugins')).sort(), [
    'installed.yaml',
    'installed.yaml.last-good',
  ]);
  await assert.rejects(device.call('plugins.remove', { id: 'guest' }), { code: 'PLUGIN_NOT_FOUND' });
});

test('the operator goes back a version, and forth again', async () => {
  await using device = await new Device().start();
  await device.install(packages.folder());
  await assert.rejects(device.call('plugins.rollback', { id: 'guest' }), { code: 'PLUGIN_CONFLICT' });
  await device.proven();
  await device.install(packages.folder({ version: '2.0.0' }));
  await device.proven();
  await device.call('plugins.rollback', { id: 'guest' });
  assert.equal(await device.running(), '1.0.0 active');
  await device.call('plugins.rollback', { id: 'guest' });
  assert.equal(await device.running(), '2.0.0 active');
});

test('files that were changed on the disk are not run, and named', async () => {
  const tampering: readonly (readonly [(folder: string) => void, RegExp])[] = [
    [(folder) => writeFileSync(join(folder, 'index.mjs'), `${QUIET}//\n`), /index\.mjs has another content/],
    [(folder) => writeFileSync(join(folder, 'more.mjs'), ''), /more\.mjs was added/],
    [(folder) => rmSync(join(folder, 'data.json')), /data\.json is missing/],
    [(folder) => symlinkSync('/etc/passwd', join(folder, 'link')), /link: it is a link/],
  ];
  for (const [tamper, reason] of tampering) {
    await using device = await new Device().start();
    await device.install(packages.folder({ files: { 'data.json': '{}' } }));
    await device.proven();
    await device.core.stop();
    const place = join(device.root, 'var/plugins/guest');
    tamper(join(place, readdirSync(place).find((name) => !name.endsWith('.sha256'))!));
    await device.start();
    const { plugins } = await device.core.kernel.status();
    const guest = plugins.find(({ id }) => id === 'guest');
    assert.match(String(guest?.reason), reason);
    assert.notEqual(guest?.state, 'active');
    assert.equal(guest?.code, 'PLUGIN_CHANGED');
  }
});

test('configuration is checked, kept over an upgrade, and proven like a new version', async () => {
  const manifest = ['config: { type: object, additionalProperties: false, properties: { n: { type: integer } } }'];
  const code = "export const plugin = { setup({ config }) { if (config.n === 13) throw new Error('bad luck'); } };";
  await using device = await new Device().start();
  await assert.rejects(device.install(packages.folder({ manifest }), { config: { n: 'x' } }), {
    code: 'PARAMS_INVALID',
  });
  await device.install(packages.folder({ manifest, code }), { config: { n: 1 } });
  await device.proven();
  await assert.rejects(device.install(packages.folder({ manifest, code }), { config: { n: 13 } }), /bad luck/);
  assert.equal(await device.running(), '1.0.0 active');
  await device.install(packages.folder({ manifest, code, version: '1.0.1' }));
  const [guest] = (await device.listing()).plugins;
  assert.deepEqual(guest?.config, { n: 1 });
});

test('a damaged list is set aside and told; what was installed runs all the same', async () => {
  await using device = await new Device().start();
  await device.install(packages.folder());
  await device.proven();
  await device.core.stop();
  const file = join(device.root, 'var/plugins/installed.yaml');
  writeFileSync(file, 'plugins: [');
  await device.start();
  assert.equal(await device.running(), '1.0.0 active');
  const aside = readdirSync(join(device.root, 'var/plugins')).find((name) =>
    name.startsWith('installed.yaml.corrupt-'),
  );
  assert.equal(readFileSync(join(device.root, 'var/plugins', String(aside)), 'utf8'), 'plugins: [');
  const { warnings = [] } = (await device.call('system.health')) as { warnings?: readonly Record<string, string>[] };
  assert.match(
    String(warnings.find(({ code }) => code === 'STATE_CORRUPT')?.message),
    /line 1.*last good copy is used/,
  );
  await device.core.stop();
  await device.start();
  assert.equal(await device.running(), '1.0.0 active');
});

test('a version that took the Core down three times before it was proven is not run a fourth time', async () => {
  await using device = await new Device().start({ probationMs: 60_000 });
  await device.install(packages.folder());
  await device.core.stop();
  const file = join(device.root, 'var/plugins/installed.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace('starts: 0', 'starts: 3'));
  await device.start({ probationMs: 60_000 });
  assert.equal(await device.running(), 'not there');
  assert.match(String((await device.listing()).rolledBack[0]?.reason), /the Core ended 3 times/);
  assert.deepEqual(device.versions(), []);
});

for (const level of ['worker', 'process'] as const)
  test(`the plugin-store does the same from a ${level} of its own`, async () => {
    await using device = await new Device().start({}, level);
    await device.install(packages.folder());
    await device.proven();
    await assert.rejects(device.install(packages.tarball({ version: '1.1.0', code: BROKEN })), {
      code: 'PLUGIN_ROLLED_BACK',
    });
    assert.equal(await device.running(), '1.0.0 active');
    await device.core.stop();
    await device.start({}, level);
    assert.equal(await device.running(), '1.0.0 active');
    await device.call('plugins.remove', { id: 'guest' });
    assert.equal(await device.running(), 'not there');
  });
