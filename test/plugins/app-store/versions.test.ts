/** Installing, updating, going back, removing, switching off: what runs then, and whose data and answers it has. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { newKeyPair } from '@device-core/plugin-api/inside/packages';
import type { ActSubject } from '@device-core/plugin-api/services/prompts';
import { leakCheck } from '@device-core/plugin-api/testing';
import { AppPackages } from '../../fixtures/app-packages.ts';
import { type StoreBench, startStore } from './start.ts';

const ID = 'com.example.guest';
const packages = new AppPackages();
after(() => packages[Symbol.dispose]());
after(leakCheck());

const form = (version: number) => ({ data: { version } });
const dataOf = ({ state }: StoreBench) => join(state, 'apps', ID, 'data');

/** What an app of this form writes when it starts. */
function writing(bench: StoreBench): void {
  bench.apps.onStart = ({ version }) => {
    mkdirSync(dataOf(bench), { recursive: true });
    writeFileSync(join(dataOf(bench), 'last'), version);
    writeFileSync(join(dataOf(bench), version), '');
  };
}

const listed = async (bench: StoreBench) =>
  (await bench.store.list()).apps.map(({ id, version }) => `${id} ${version}`);
const holds = (bench: StoreBench) => readFileSync(join(dataOf(bench), 'last'), 'utf8');

test('a check tells what would be installed, and leaves nothing behind', async () => {
  await using bench = await startStore();
  const outcome = await bench.install(await packages.pack(), { check: true });
  assert.equal(outcome.state, 'checked');
  assert.deepEqual(await listed(bench), []);
  assert.deepEqual(readdirSync(join(bench.place, '.staging')), []);
});

test('code lies read-only in a folder that is named by its content, with a list beside it', async () => {
  await using bench = await startStore();
  await bench.install(await packages.pack({ files: { 'lib/a.js': 'a' } }));
  const [app] = (await bench.store.list()).apps;
  assert.ok(app);
  assert.match(app.folder, /\/com\.example\.guest\/1\.0\.0\+[0-9a-f]{12}$/);
  const modes = ['.', 'lib', 'lib/a.js', 'main.cjs'].map((path) => statSync(join(app.folder, path)).mode & 0o7777);
  assert.deepEqual(modes, [0o555, 0o555, 0o444, 0o444]);
  assert.match(readFileSync(`${app.folder}.sha256`, 'utf8'), /^[0-9a-f]{64} {2}app\.yaml$/m);
  assert.deepEqual(bench.apps.started, [`${ID} 1.0.0`]);
});

for (const [title, reason] of [
  ['never', /failed its probation: it waits after a crash: it was not ready/],
  ['crash', /failed its probation: it waits after a crash/],
  ['sick', /failed its probation: its health is an error: it hurts/],
] as const)
  test(`a version that fails (${title}) makes room for the one before, with its data and the owner's answers`, async () => {
    await using bench = await startStore();
    writing(bench);
    await bench.install(await packages.pack({ manifest: form(1) }));
    bench.consents.kept.set(ID, [
      { capability: 'audio.capture', allowed: false, by: 'operator', at: 1, version: '1.0.0' },
    ]);
    const newer = await packages.pack({ version: '1.1.0', manifest: { title, ...form(2) } });
    await assert.rejects(bench.install(newer), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'APP_ROLLED_BACK');
      assert.match(error.message, reason);
      assert.match(error.message, /1\.0\.0 comes back/);
      return true;
    });
    assert.deepEqual(await listed(bench), [`${ID} 1.0.0`]);
    assert.equal(bench.apps.running.get(ID)?.state, 'running');
    assert.equal(holds(bench), '1.0.0');
    assert.deepEqual(readdirSync(dataOf(bench)).sort(), ['1.0.0', 'last']);
    assert.equal(bench.consents.kept.get(ID)?.length, 1);
    assert.equal(((await bench.call('apps.installed')).rolledBack as { version: string }[])[0]?.version, '1.1.0');
    assert.equal(readdirSync(join(bench.place, ID)).length, 2);
  });

test('a first version that fails is removed, and the next one has its data', async () => {
  await using bench = await startStore();
  await assert.rejects(bench.install(await packages.pack({ manifest: { title: 'never' } })), {
    code: 'APP_ROLLED_BACK',
  });
  assert.deepEqual(await listed(bench), []);
  assert.equal(bench.apps.running.size, 0);
  await bench.install(await packages.pack({ version: '1.0.1' }));
  assert.deepEqual((await bench.call('apps.installed')).rolledBack, []);
});

test('data are copied when their form rises, told to the new version, and come back with a rollback', async () => {
  await using bench = await startStore();
  writing(bench);
  await bench.install(await packages.pack({ manifest: form(1) }));
  const seen: (number | undefined)[] = [];
  const start = bench.apps.onStart;
  bench.apps.onStart = (manifest) => {
    start(manifest);
    void bench.store.list().then(({ apps }) => seen.push(apps[0]?.dataFrom));
  };
  await bench.install(await packages.pack({ version: '2.0.0', manifest: form(2) }));
  assert.deepEqual(seen, [1]);
  assert.equal((await bench.store.list()).apps[0]?.dataFrom, undefined);
  assert.deepEqual([holds(bench), existsSync(join(dataOf(bench), '1.0.0'))], ['2.0.0', true]);
  bench.apps.onStart = () => undefined;
  const back = await bench.call('apps.rollback', { id: 'guest' });
  assert.deepEqual([back.version, back.former], ['1.0.0', '2.0.0']);
  assert.equal(holds(bench), '1.0.0');
  assert.deepEqual(await listed(bench), [`${ID} 1.0.0`]);
  await assert.rejects(bench.call('apps.rollback', { id: ID }), { code: 'APP_CONFLICT', message: /no other version/ });
});

test('a version that does not know the form of the data is refused, unless it begins without', async () => {
  await using bench = await startStore();
  writing(bench);
  await bench.install(await packages.pack({ version: '2.0.0', manifest: form(2) }));
  const older = await packages.pack({ version: '1.0.0', manifest: form(1) });
  await assert.rejects(bench.install(older), { code: 'APP_CONFLICT', message: /2\.0\.0 is there, which is newer/ });
  await assert.rejects(bench.install(older, { downgrade: true }), { code: 'APP_CONFLICT', message: /have form 2/ });
  bench.apps.onStart = () => undefined;
  await bench.install(older, { downgrade: true, discardData: true });
  assert.deepEqual(await listed(bench), [`${ID} 1.0.0`]);
  assert.equal(existsSync(dataOf(bench)), false);
});

test('links in the data are copied as links, never followed; entries that are no file stay behind', async () => {
  await using bench = await startStore();
  writing(bench);
  await bench.install(await packages.pack({ manifest: form(1) }));
  mkdirSync(join(dataOf(bench), 'deep'));
  symlinkSync('/etc/shadow', join(dataOf(bench), 'secret'));
  symlinkSync('/etc', join(dataOf(bench), 'deep/etc'));
  const { execFileSync } = await import('node:child_process');
  execFileSync('mkfifo', [join(dataOf(bench), 'pipe')]);
  await bench.install(await packages.pack({ version: '2.0.0', manifest: form(2) }));
  const copy = join(bench.state, 'apps', ID, 'before/1.0.0');
  const { lstatSync, readlinkSync } = await import('node:fs');
  assert.equal(readlinkSync(join(copy, 'secret')), '/etc/shadow');
  assert.equal(lstatSync(join(copy, 'deep/etc')).isSymbolicLink(), true);
  assert.deepEqual(readdirSync(copy).sort(), ['1.0.0', 'deep', 'last', 'secret']);
});

test('removed data are kept for their signer, and purged on demand; the user stays as long as they do', async () => {
  await using bench = await startStore();
  writing(bench);
  await bench.install(await packages.pack());
  const uid = await bench.store.uidOf(ID);
  assert.equal(uid, 40_000);
  await bench.call('apps.remove', { id: 'guest' });
  assert.deepEqual(await listed(bench), []);
  const [kept] = (await bench.call('apps.installed')).retained as { id: string; bytes: number }[];
  assert.equal(kept?.id, ID);
  assert.ok(existsSync(dataOf(bench)));
  assert.equal(await bench.store.uidOf(ID), uid);
  assert.equal(await bench.store.uidOf('com.example.other'), uid + 1);
  await bench.call('apps.remove', { id: ID, purge: true });
  assert.equal(existsSync(join(bench.state, 'apps', ID)), false);
  assert.equal(await bench.store.uidOf(ID), uid + 2);
  await assert.rejects(bench.call('apps.remove', { id: ID, purge: true }), { code: 'APP_NOT_FOUND' });
});

test('switched off is switched off for good, over a new version and a new start', async () => {
  await using first = await startStore();
  await first.install(await packages.pack());
  await first.call('apps.switch', { id: 'guest', enabled: false });
  assert.deepEqual((await first.store.list()).off, [ID]);
  assert.equal(first.apps.running.get(ID)?.state, 'stopped');
  await first.install(await packages.pack({ version: '1.1.0', manifest: { title: 'never' } }));
  assert.equal(first.apps.running.get(ID)?.state, 'stopped');
  for (const id of ['nobody', 'constructor', '__proto__']) {
    await assert.rejects(first.call('apps.switch', { id, enabled: false }), { code: 'APP_NOT_FOUND' }, id);
    await assert.rejects(first.call('apps.remove', { id }), { code: 'APP_NOT_FOUND' }, id);
    await assert.rejects(first.call('apps.rollback', { id }), { code: 'APP_NOT_FOUND' }, id);
  }
});

test('an update is of the app that was named, and of one that is there', async () => {
  await using bench = await startStore();
  const source = await packages.pack({ version: '1.1.0' });
  await assert.rejects(bench.call('apps.update', { id: ID, source }), { code: 'APP_NOT_FOUND' });
  await bench.install(await packages.pack());
  const other = await packages.pack({ id: 'com.example.other' });
  await assert.rejects(bench.call('apps.update', { id: 'guest', source: other }), {
    code: 'APP_CONFLICT',
    message: /another app than com\.example\.guest/,
  });
  await bench.call('apps.update', { id: 'guest', source });
  assert.deepEqual(await listed(bench), [`${ID} 1.1.0`]);
});

test('the very same version again changes nothing', async () => {
  await using bench = await startStore();
  const source = await packages.pack();
  await bench.install(source);
  const before = readFileSync(join(bench.place, 'installed.yaml'), 'utf8');
  await bench.install(source);
  assert.equal(readFileSync(join(bench.place, 'installed.yaml'), 'utf8'), before);
});

const ASKS = {
  title: 'Eye 👩\u200d🚀',
  capabilities: [
    { id: 'audio.capture', reason: 'listens' },
    { id: 'network.outbound:weather.house.example', ports: [41500], reason: 'fetches' },
    { id: 'sensors.nfc', optional: true, reason: 'shows cards' },
    { id: 'display.notify', reason: 'tells' },
  ],
};
const NEEDED = ['audio.capture', 'network.outbound:weather.house.example'];

test('a person who confirms an installation is shown the package and each right that it gives; nothing is installed by it', async () => {
  const { publicKey, privateKey } = newKeyPair();
  const trust = [{ name: 'Weather Makers', key: publicKey, ids: ['com.example.*'], highest: 'sensitive' }];
  await using bench = await startStore({ config: { trust } });
  const source = await packages.pack({ manifest: ASKS, key: privateKey });
  const { what, ...package_ } = (await bench.about('apps.install', { source, grants: NEEDED })) as ActSubject;
  assert.deepEqual(package_, { id: ID, title: ASKS.title, version: '1.0.0', signer: 'Weather Makers' });
  assert.deepEqual(
    what?.map(({ summary, reason }) => [summary, reason]),
    [
      ['hear the microphone', 'listens'],
      ['connect to weather.house.example, port 41500, and to no other host', 'fetches'],
      ['show toasts and banners', 'tells'],
    ],
  );
  assert.deepEqual(await listed(bench), []);
  assert.deepEqual(bench.consents.kept.size, 0);
  await bench.install(source, { grants: NEEDED });
  const next = await packages.pack({ version: '1.1.0', manifest: ASKS, key: privateKey });
  const update = (await bench.about('apps.update', {
    id: 'guest',
    source: next,
    grants: ['sensors.nfc'],
  })) as ActSubject;
  assert.deepEqual(
    [update.version, update.what?.map(({ capability }) => capability)],
    ['1.1.0', ['sensors.nfc']],
    'what it holds already is not given anew',
  );
  const { version, signer } = (await bench.about('apps.remove', { id: 'guest' })) as ActSubject;
  assert.deepEqual([version, signer], ['1.0.0', 'Weather Makers']);
});

test('a package without a trusted signature is shown as not signed, and its faults are told before a person is asked', async () => {
  await using bench = await startStore();
  const source = await packages.pack({ manifest: ASKS });
  assert.equal(((await bench.about('apps.install', { source, grants: [] })) as ActSubject).signer, null);
  await assert.rejects(bench.about('apps.install', { source: '/nowhere.app' }), { code: 'PACKAGE_INVALID' });
  await assert.rejects(bench.about('apps.remove', { id: 'nobody' }), { code: 'APP_NOT_FOUND' });
});

test('an optional right that was not named with the others is denied, and not asked once more', async () => {
  await using bench = await startStore();
  const source = await packages.pack({ manifest: ASKS });
  await bench.install(source, { grants: NEEDED });
  assert.deepEqual(
    (await bench.consents.of(ID)).map(({ capability, allowed }) => [capability, allowed]),
    [...NEEDED.map((one) => [one, true]), ['sensors.nfc', false]],
  );
});

test('a right that cannot be granted holds an installation back, and is named as missing', async () => {
  await using bench = await startStore();
  const manifest = { capabilities: [{ id: 'audio.capture', reason: 'listens' }] };
  const source = await packages.pack({ manifest });
  await assert.rejects(bench.install(source), { code: 'CONSENT_REQUIRED', message: /audio\.capture/ });
  assert.deepEqual(await listed(bench), []);
  await bench.install(source, { grants: ['audio.capture'] });
  assert.deepEqual(await listed(bench), [`${ID} 1.0.0`]);
});
