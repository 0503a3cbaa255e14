/** What is asked before anything of a plugin runs. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { parseTree, treeOf } from '@device-core/plugin-api/inside/packages';
import { leakCheck } from '@device-core/plugin-api/testing';
import { type PackageOptions, Packages } from '../../fixtures/packages.ts';
import { startStore } from './start.ts';

const packages = new Packages();
after(() => packages[Symbol.dispose]());
after(leakCheck());

const LAMP = { provides: { lamp: '1.2.0' } };

describe('a plugin is refused before it runs', () => {
  const cases: readonly (readonly [
    what: string,
    PackageOptions,
    code: string,
    reason: RegExp,
    config?: object,
    request?: object,
  ])[] = [
    [
      'whose manifest has an unknown member',
      { manifest: ['order: 1'] },
      'MANIFEST_INVALID',
      /plugin\.yaml:6.* order is not known here/,
    ],
    ['whose manifest is no YAML', { manifest: ['summary: ['] }, 'MANIFEST_INVALID', /plugin\.yaml:\d/],
    ['with an id that is none', { manifest: ['id: Guest'] }, 'MANIFEST_INVALID', /plugin\.yaml:5/],
    ['whose version is none', { manifest: ['version: one'] }, 'MANIFEST_INVALID', /semver/],
    ['whose module is not there', { manifest: ['main: ./dist/index.js'] }, 'MANIFEST_INVALID', /not in the package/],
    [
      'whose module is elsewhere',
      { manifest: ['main: ../../../kernel/main.ts'] },
      'MANIFEST_INVALID',
      /not in the package/,
    ],
    [
      'for another API',
      { manifest: ['api: ^2.0.0'] },
      'API_VERSION_MISMATCH',
      /needs plugin-api \^2\.0\.0, this Core has 1\./,
    ],
    [
      'with a capability that is none',
      { manifest: ['capabilities: [bridges.sip]'] },
      'CAPABILITY_UNKNOWN',
      /did you mean bridges\.spi/,
    ],
    ['that wants to own a hook', { manifest: ['hooks: [health.collect]'] }, 'MANIFEST_INVALID', /owned by system/],
    ['of a name that is reserved', { id: 'kernel' }, 'PLUGIN_CONFLICT', /reserved/],
    ['of the name of a plugin of the tree', { id: 'spi' }, 'PLUGIN_CONFLICT', /a plugin of the Core has this id/],
    [
      'of a word of the Core',
      { id: 'session' },
      'PLUGIN_CONFLICT',
      /sessions, a name of the Core \(id in plugin\.yaml\)/,
    ],
    ['of a name like that of the tree', { id: 'app-st0re' }, 'PLUGIN_CONFLICT', /looks like that of plugin app-store/],
    ['of a name like that of the SKU', { id: 'lamps' }, 'PLUGIN_CONFLICT', /looks like that of plugin lamp/],
    [
      'that publishes topics of the Core',
      { manifest: ['publishes: [system.power]'] },
      'PLUGIN_CONFLICT',
      /system\.power is no topic of this plugin.*plugin\.guest\.\* \(publishes\.0 in plugin\.yaml\)/,
    ],
    [
      'that publishes all topics',
      { manifest: ["publishes: ['**']"] },
      'PLUGIN_CONFLICT',
      /\*\* is no topic of this plugin/,
    ],
    [
      'with a command of the Core',
      { manifest: ['programs: [{ command: app list, summary: s, main: ./index.mjs }]'] },
      'PLUGIN_CONFLICT',
      /command app list .* has to begin with guest/,
    ],
    ['of the name of a plugin of the SKU', { id: 'lamp' }, 'PLUGIN_CONFLICT', /a plugin of the SKU has this id/],
    ['that provides what is there', { manifest: ['provides: { lamp: 2.0.0 }'] }, 'SERVICE_ALREADY_PROVIDED', /lamp/],
    [
      'that provides what the kernel does',
      { manifest: ['provides: { grants: 1.0.0 }'] },
      'SERVICE_DENIED',
      /it is a contract of the Core/,
    ],
    [
      'that needs what is not there',
      { manifest: ['requires: { horn: ^1.0.0 }'] },
      'SERVICE_MISSING',
      /no plugin provides it/,
    ],
    [
      'that needs a newer service',
      { manifest: ['requires: { lamp: ^1.3.0 }'] },
      'SERVICE_MISSING',
      /lamp provides 1\.2\.0/,
    ],
    [
      'that needs a newer kernel',
      { manifest: ['requires: { device: ^9.0.0 }'] },
      'SERVICE_MISSING',
      /the kernel provides 1\./,
    ],
    [
      'closer to the Core than it bears',
      { manifest: ['isolation: process'] },
      'ISOLATION_UNSUPPORTED',
      /asks for process/,
      {},
      { isolation: 'worker' },
    ],
    [
      'closer to the Core than the SKU allows',
      {},
      'ISOLATION_UNSUPPORTED',
      /level worker at least/,
      { leastIsolation: 'worker' },
      { isolation: 'inline' },
    ],
    ['with settings that it does not know', {}, 'PARAMS_INVALID', /config\.n/, {}, { config: { n: 1 } }],
    [
      'with a configuration schema that is none',
      { manifest: ['config: { type: nothing }'] },
      'PARAMS_INVALID',
      /cannot be applied/,
    ],
    ['without the signature that the SKU asks for', {}, 'SIGNATURE_INVALID', /not signed/, { signatures: 'require' }],
  ];
  for (const [what, options, code, reason, config, request] of cases)
    test(what, async () => {
      await using store = await startStore(config, { lamp: LAMP });
      await assert.rejects(store.install(packages.folder(options), request), (error: Error & { code?: string }) => {
        assert.equal(error.code, code, error.message);
        assert.match(error.message, reason);
        return true;
      });
      assert.ok(!existsSync(join(store.place, 'installed.yaml')));
    });
});

test('a plugin that others need is neither removed nor replaced by one without that service', async () => {
  const user = { requires: { horn: '^1.0.0' } };
  const others: Record<string, object> = { lamp: LAMP };
  await using store = await startStore({}, others);
  await store.install(packages.folder({ manifest: ['provides: { horn: 1.0.0 }'] }));
  Object.assign(others, { user, guest: { provides: { horn: '1.0.0' } } });
  await assert.rejects(store.call('plugins.remove', { id: 'guest' }), /plugin user needs its service horn/);
  await assert.rejects(store.install(packages.folder({ version: '2.0.0' })), { code: 'PLUGIN_CONFLICT' });
});

test('a plugin of the SKU is switched off for good, unless the device could not be administered without it', async () => {
  const others = { lamp: LAMP, front: { provides: { 'http-server': '1.0.0' } }, base: { essential: true } };
  await using store = await startStore({}, others);
  await store.call('plugins.switch', { id: 'lamp', enabled: false });
  assert.deepEqual((await store.call('plugins.installed')).disabled, ['lamp']);
  await store.call('plugins.switch', { id: 'lamp', enabled: true });
  assert.deepEqual((await store.call('plugins.installed')).disabled, []);
  for (const id of ['front', 'base', 'plugin-store']) {
    await assert.rejects(store.call('plugins.switch', { id, enabled: false }), { code: 'PLUGIN_CONFLICT' }, id);
  }
  for (const id of ['nobody', 'constructor', '__proto__']) {
    await assert.rejects(store.call('plugins.switch', { id, enabled: false }), { code: 'PLUGIN_NOT_FOUND' }, id);
    await assert.rejects(store.call('plugins.remove', { id }), { code: 'PLUGIN_NOT_FOUND' }, id);
    await assert.rejects(store.call('plugins.rollback', { id }), { code: 'PLUGIN_NOT_FOUND' }, id);
  }
});

test('the very same files and settings are no new version; the kept list is what sha256sum takes', async () => {
  await using store = await startStore();
  const folder = packages.folder({ files: { 'a b.txt': 'x' } });
  const first = await store.install(folder);
  const [entry] = (await store.call('plugins.installed')).plugins as { installedAt: number }[];
  const again = await store.install(folder);
  assert.equal(again.hash, first.hash);
  assert.deepEqual((await store.call('plugins.installed')).plugins, [entry]);
  const [list = ''] = readdirSync(join(store.place, 'guest')).filter((name) => name.endsWith('.sha256'));
  const text = readFileSync(join(store.place, 'guest', list), 'utf8');
  assert.match(text, /^[0-9a-f]{64} {2}a b\.txt$/m);
  assert.equal(treeOf(parseTree(text).files).hash, first.hash);
});

test('a list that was changed together with the files does not hide it', async () => {
  await using store = await startStore();
  await store.install(packages.folder());
  const names = readdirSync(join(store.place, 'guest'));
  const folder = join(store.place, 'guest', names.find((name) => !name.endsWith('.sha256'))!);
  const verify = () => store.host.hook('plugin.verify').promise({ id: 'guest' } as never, `${folder}/`);
  await verify();
  writeFileSync(join(folder, 'index.mjs'), 'export {};');
  await assert.rejects(verify(), /index\.mjs has another content/);
  writeFileSync(`${folder}.sha256`, '');
  await assert.rejects(verify(), { code: 'PLUGIN_CHANGED' });
});
