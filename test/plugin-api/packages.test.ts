/** Packages of apps: written the same by everybody, read back whole, signed as what they are. */
import assert from 'node:assert/strict';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import {
  APP_PACKAGE,
  changeOf,
  filesOf,
  newKeyPair,
  PLUGIN_PACKAGE,
  packApp,
  parseTree,
  readSignature,
  readTree,
  signTree,
  unpack,
  verifyTree,
} from '@device-core/plugin-api/inside/packages';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { runs } from '../fixtures/runs.ts';

const LIMITS = { files: 5_000, bytes: 1 << 26 };
const root = mkdtempSync(join(tmpdir(), 'pk-'));
after(() => rmSync(root, { recursive: true }));
after(leakCheck());
let count = 0;

function folderOf(files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = join(root, `f${count++}`);
  mkdirSync(folder);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

async function unpacked(bytes: Uint8Array): Promise<string> {
  const file = join(root, `p${count++}.app`);
  const target = join(root, `u${count++}`);
  writeFileSync(file, bytes);
  mkdirSync(target);
  await unpack(file, target, LIMITS, AbortSignal.timeout(60_000));
  return target;
}

const FILES = { 'app.yaml': 'name: a\n', 'main.js': '//', 'lib/b.js': 'b', 'node_modules/dep/index.js': 'd' };

test('packing twice gives the same bytes, for any times, permissions of others and order of the files', async () => {
  const one = folderOf(FILES);
  const other = folderOf(Object.fromEntries(Object.entries(FILES).toReversed()));
  chmodSync(join(other, 'main.js'), 0o664);
  mkdirSync(join(other, '.git'));
  writeFileSync(join(other, '.git/HEAD'), 'x');
  const [a, b] = await Promise.all([one, other].map((folder) => packApp(folder, { top: 'a-1.0.0', limits: LIMITS })));
  assert.deepEqual(a?.bytes, b?.bytes);
  assert.deepEqual([...(a?.tree.files.keys() ?? [])], Object.keys(FILES).toSorted());
});

test('a packed folder comes out again, programs as programs', async () => {
  const folder = folderOf({ ...FILES, [`deep/${'x'.repeat(120)}/${'y'.repeat(100)}.txt`]: 'long' });
  chmodSync(join(folder, 'main.js'), 0o755);
  const { publicKey, privateKey, fingerprint } = newKeyPair();
  const { bytes, tree, signed } = await packApp(folder, { top: 'a-1.0.0', key: privateKey, limits: LIMITS });
  assert.equal(signed, true);
  const target = await unpacked(bytes);
  const again = await readTree(APP_PACKAGE, target, await filesOf(target, LIMITS.files), LIMITS.bytes);
  assert.equal(again.hash, tree.hash);
  const signature = await readSignature(APP_PACKAGE, 'a', target);
  assert.equal(verifyTree(APP_PACKAGE, 'a', again.hash, signature, [publicKey]), fingerprint);
  await assert.rejects(readSignature(PLUGIN_PACKAGE, 'a', target), { code: 'SIGNATURE_INVALID' });
});

test('a signature of a plugin is none of an app, nor the other way round', () => {
  const { publicKey, privateKey } = newKeyPair();
  const hash = `sha256:${'0'.repeat(64)}`;
  for (const [made, read] of [
    [PLUGIN_PACKAGE, APP_PACKAGE],
    [APP_PACKAGE, PLUGIN_PACKAGE],
  ] as const) {
    const signature = signTree(made, hash, privateKey);
    const check = () => verifyTree(read, 'a', hash, signature, [publicKey]);
    assert.throws(check, {
      code: 'SIGNATURE_INVALID',
      message: `cannot trust ${read.noun} a: its signature is of other files`,
    });
  }
});

test('links are not packed: they are told', async () => {
  const folder = folderOf(FILES);
  symlinkSync('/etc/passwd', join(folder, 'l'));
  await assert.rejects(packApp(folder, { top: 'a', limits: LIMITS }), {
    code: 'PACKAGE_INVALID',
    message: /it is a link/,
  });
});

test('a private key is not packed, and neither is a former package', async () => {
  const folder = folderOf({ ...FILES, 'a-0.9.0.app': 'former', 'node_modules/x/test.pem': newKeyPair().privateKey });
  const { tree } = await packApp(folder, { top: 'a', limits: LIMITS });
  assert.deepEqual([...tree.files.keys()], [...Object.keys(FILES), 'node_modules/x/test.pem'].toSorted());
  writeFileSync(join(folder, 'me'), newKeyPair().privateKey);
  await assert.rejects(packApp(folder, { top: 'a', limits: LIMITS }), {
    code: 'PACKAGE_INVALID',
    message: /\/me: it holds a private key$/,
  });
});

test('files of any contents come back byte for byte', async () => {
  const name = fc.stringMatching(/^[a-zA-Z0-9_ ä-]{1,40}$/);
  const path = fc
    .array(name, { minLength: 1, maxLength: 4 })
    .map((parts) => `d/${parts.map((part) => `_${part}_`).join('/')}.f`);
  const files = fc.dictionary(path, fc.uint8Array({ maxLength: 2_000 }), { maxKeys: 8 });
  await fc.assert(
    fc.asyncProperty(files, async (some) => {
      const folder = folderOf({ ...some, 'app.yaml': 'x' });
      const { bytes, tree } = await packApp(folder, { top: 't', limits: LIMITS });
      const target = await unpacked(bytes);
      assert.deepEqual(await filesOf(target, 100), [...tree.files.keys()]);
      for (const file of tree.files.keys())
        assert.deepEqual(readFileSync(join(target, file)), readFileSync(join(folder, file)));
    }),
    { numRuns: runs(100) },
  );
});

test('a change of an unpacked package is named', async () => {
  const target = await unpacked((await packApp(folderOf(FILES), { top: 't', limits: LIMITS })).bytes);
  const { hash, list } = await readTree(APP_PACKAGE, target, await filesOf(target, 100), LIMITS.bytes);
  assert.deepEqual(parseTree(list).hash, hash);
  const change = () => changeOf(APP_PACKAGE, target, hash, async () => list, LIMITS);
  assert.equal(await change(), undefined);
  writeFileSync(join(target, 'main.js'), 'other');
  assert.equal(await change(), 'main.js has another content');
  writeFileSync(join(target, 'main.js'), '//');
  writeFileSync(join(target, 'new'), '');
  assert.equal(await change(), 'new was added');
  rmSync(join(target, 'new'));
  rmSync(join(target, 'lib/b.js'));
  assert.equal(await change(), 'lib/b.js is missing');
  symlinkSync('/dev/null', join(target, 'lib/b.js'));
  assert.match((await change()) ?? '', /it is a link/);
  assert.deepEqual(readdirSync(target).sort(), ['app.yaml', 'lib', 'main.js', 'node_modules']);
});
