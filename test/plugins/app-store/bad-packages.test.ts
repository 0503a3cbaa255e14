/** Packages that must do no harm: each is refused with its reason, and nothing of it stays. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import {
  APP_PACKAGE,
  filesOf,
  newKeyPair,
  PLUGIN_PACKAGE,
  readTree,
  signTree,
} from '@device-core/plugin-api/inside/packages';
import { leakCheck } from '@device-core/plugin-api/testing';
import { rotationOf } from '../../../plugins/apps/app-store/trust.ts';
import { AppPackages } from '../../fixtures/app-packages.ts';
import { NO_DISK, SmallDisk } from '../../fixtures/small-disk.ts';
import { archive, type Member } from '../../fixtures/tarballs.ts';
import { startStore } from './start.ts';

const ID = 'com.example.guest';
const packages = new AppPackages();
const [own, other] = [newKeyPair(), newKeyPair()];
after(() => packages[Symbol.dispose]());
after(leakCheck());

const MANIFEST = (more = '') =>
  `manifestVersion: 1\nid: ${ID}\nname: guest\nversion: 1.0.0\ntitle: g\nexec: { command: node }\ncapabilities: []\n${more}`;
const GOOD: readonly Member[] = [
  { path: 'guest/app.yaml', text: MANIFEST() },
  { path: 'guest/main.cjs', text: '//' },
];
const raw = async (bytes: Uint8Array) => packages.file(bytes);
const tarball = (...more: readonly Member[]) => raw(gzipSync(archive([...GOOD, ...more])));
const trust = (more: object = {}) => ({
  signatures: 'require',
  trust: [{ name: 'maker', key: own.publicKey, ids: ['com.example.*'], highest: 'normal', ...more }],
});

/** A package whose signature is made by hand. */
async function signedAs(sign: (folder: string, hash: string) => string): Promise<string> {
  const folder = packages.folder();
  const { hash } = await readTree(APP_PACKAGE, folder, await filesOf(folder, 10), 1 << 20);
  const members = ['app.yaml', 'main.cjs'].map((name) => join(folder, name));
  const { readFileSync } = await import('node:fs');
  const files = members.map((path) => ({ path: `guest/${path.split('/').at(-1)}`, text: readFileSync(path, 'utf8') }));
  return raw(gzipSync(archive([...files, { path: 'guest/app.sig', text: sign(folder, hash) }])));
}

type Case = readonly [what: string, file: () => Promise<string>, code: string, reason: RegExp, config?: object];

/** Archives of every other evil kind are refused in plugin-store/packages.test.ts: both stores unpack by one module. */
const cases: readonly Case[] = [
  ['cut off', async () => raw(gzipSync(archive(GOOD)).subarray(0, 150)), 'PACKAGE_INVALID', /unexpected end/i],
  [
    'with a symbolic link',
    () => tarball({ path: 'guest/l', type: 'SymbolicLink', linkpath: '/etc' }),
    'PACKAGE_INVALID',
    /SymbolicLink/,
  ],
  ['with a path above its folder', () => tarball({ path: 'guest/../../evil' }), 'PACKAGE_INVALID', /leads elsewhere/],
  ['with two app.yaml', () => tarball({ path: 'guest/app.yaml', text: MANIFEST() }), 'PACKAGE_INVALID', /comes twice/],
  ['without app.yaml', () => raw(gzipSync(archive([{ path: 'guest/main.cjs' }]))), 'PACKAGE_INVALID', /no app\.yaml/],
  ['that is a folder', async () => packages.folder(), 'PACKAGE_INVALID', /it is no file/],
  ['that is not there', async () => '/nowhere.app', 'PACKAGE_INVALID', /cannot be read/],
  ['that is a device', async () => '/dev/zero', 'PACKAGE_INVALID', /it is no file/],
  [
    'for another platform',
    () =>
      packages.pack({
        manifest: { platform: ['linux-arm64', 'linux-x64'].filter((one) => !one.endsWith(process.arch)) },
      }),
    'PLATFORM_UNSUPPORTED',
    /this is linux/,
  ],
  [
    'for another runtime',
    () => packages.pack({ manifest: { runtime: { kind: 'node', version: '>=99' } } }),
    'RUNTIME_MISSING',
    /node >=99/,
  ],
  [
    'with a name of 41 characters',
    () => packages.pack({ name: 'a'.repeat(41) }),
    'MANIFEST_INVALID',
    /app\.yaml:\d+ .*name/,
  ],
  [
    'with a manifest of noise',
    () => packages.pack({ files: { 'app.yaml': ': [' } }),
    'MANIFEST_INVALID',
    /^manifest app\.yaml:\d+ is not valid/,
  ],
  [
    'with too many files',
    () => packages.pack({ files: Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`f/${at}`, ''])) }),
    'PACKAGE_INVALID',
    /more than 20 files/,
    { maxFiles: 20 },
  ],
  ['that nobody signed', () => packages.pack(), 'SIGNATURE_INVALID', /not signed/, trust()],
  [
    'by a key that nobody knows',
    () => packages.pack({ key: other.privateKey }),
    'SIGNATURE_INVALID',
    /does not trust/,
    trust(),
  ],
  [
    'with the signature of a plugin',
    () => signedAs((_, hash) => signTree(PLUGIN_PACKAGE, hash, own.privateKey)),
    'SIGNATURE_INVALID',
    /of other files/,
    trust(),
  ],
  [
    'with the signature of other files',
    () => signedAs(() => signTree(APP_PACKAGE, `sha256:${'0'.repeat(64)}`, own.privateKey)),
    'SIGNATURE_INVALID',
    /of other files/,
    trust(),
  ],
  [
    'wrongly signed by a trusted key, where unsigned ones are taken',
    () => signedAs(() => signTree(APP_PACKAGE, `sha256:${'0'.repeat(64)}`, own.privateKey)),
    'SIGNATURE_INVALID',
    /of other files/,
    { ...trust(), signatures: 'warn' },
  ],
  [
    'by a key for other ids',
    () => packages.pack({ key: own.privateKey }),
    'SIGNATURE_INVALID',
    /does not speak for it/,
    trust({ ids: ['com.other.*'] }),
  ],
  [
    'by a key of a lower class',
    () => packages.pack({ key: own.privateKey, manifest: { capabilities: [{ id: 'audio.capture', reason: 'x' }] } }),
    'SIGNATURE_INVALID',
    /class sensitive/,
    trust(),
  ],
];

describe('a package is refused, and leaves nothing behind,', () => {
  for (const [what, file, code, reason, config] of cases)
    test(what, async () => {
      await using bench = await startStore({ ...(config ? { config } : {}) });
      await assert.rejects(bench.install(await file()), (error: Error & { code?: string }) => {
        assert.equal(error.code, code, error.message);
        assert.match(error.message, reason);
        return true;
      });
      assert.deepEqual((await bench.store.list()).apps, []);
      assert.deepEqual(readdirSync(join(bench.place, '.staging')), []);
      assert.equal(existsSync(join(bench.place, ID)), false);
    });
});

test('one of the same form is taken when nothing is wrong with it', async () => {
  await using bench = await startStore({ config: trust() });
  const outcome = await bench.install(await packages.pack({ key: own.privateKey }));
  assert.equal(outcome.signer, own.fingerprint);
  assert.equal(
    (await bench.install(await packages.pack({ key: own.privateKey, version: '1.0.1' }))).state,
    'installed',
  );
});

test('a new version comes from the signer of the former one, or with its word for the next', async () => {
  const both = [own, other].map(({ publicKey: key }, at) => ({ name: `m${at}`, key, ids: ['*'], highest: 'oem' }));
  await using bench = await startStore({ config: { trust: both } });
  await bench.install(await packages.pack({ key: own.privateKey }));
  const version = '1.1.0';
  for (const options of [{}, { key: other.privateKey }])
    await assert.rejects(bench.install(await packages.pack({ version, ...options })), { code: 'APP_CONFLICT' });
  const wrong = rotationOf('com.example.else', own.privateKey, other.fingerprint);
  const right = rotationOf(ID, own.privateKey, other.fingerprint);
  const pack = (text: string) => packages.pack({ version, key: other.privateKey, files: { 'app.rotate': text } });
  await assert.rejects(bench.install(await pack(wrong)), { code: 'APP_CONFLICT', message: /of something else/ });
  assert.equal((await bench.install(await pack(right))).signer, other.fingerprint);
  await bench.call('apps.remove', { id: ID });
  await assert.rejects(bench.install(await packages.pack({ key: own.privateKey })), { code: 'APP_CONFLICT' });
});

test('a name belongs to one app, and an older version has to be asked for', async () => {
  await using bench = await startStore();
  await bench.install(await packages.pack({ version: '2.0.0' }));
  await assert.rejects(bench.install(await packages.pack({ id: 'org.other.guest' })), {
    code: 'APP_CONFLICT',
    message: /com\.example\.guest has the name guest already/,
  });
  const older = await packages.pack({ version: '1.9.0' });
  await assert.rejects(bench.install(older), { code: 'APP_CONFLICT', message: /which is newer/ });
  assert.equal((await bench.install(older, { downgrade: true })).version, '1.9.0');
});

test('a file that is swapped in the folder of the store after its check is not put in place', async () => {
  await using bench = await startStore();
  const source = await packages.pack({ manifest: { capabilities: [{ id: 'audio.capture', reason: 'listens' }] } });
  bench.consents.onKeep = () => {
    const [staged = ''] = readdirSync(join(bench.place, '.staging'));
    writeFileSync(join(bench.place, '.staging', staged, 'main.cjs'), 'evil');
  };
  await assert.rejects(bench.install(source, { grants: ['audio.capture'] }), {
    code: 'PACKAGE_INVALID',
    message: /changed after it was checked: main\.cjs has another content/,
  });
  assert.deepEqual((await bench.store.list()).apps, []);
  assert.equal(bench.consents.kept.get(ID)?.length, 0);
});

test('a full disk is told before anything is touched, and leaves the former version', { skip: NO_DISK }, async () => {
  using disk = new SmallDisk(4096);
  mkdirSync(join(disk.path, 'var'));
  await using bench = await startStore({ root: disk.path });
  await bench.install(await packages.pack());
  const big = await packages.pack({ version: '1.1.0', files: { big: new Uint8Array(2 << 20) } });
  disk.fill();
  await assert.rejects(bench.install(big), { code: 'STORAGE_FULL' });
  disk.free();
  assert.deepEqual(
    (await bench.store.list()).apps.map(({ version }) => version),
    ['1.0.0'],
  );
  assert.equal((await bench.install(big)).version, '1.1.0');
});
