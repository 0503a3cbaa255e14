import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, linkSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { leakCheck } from '@device-core/plugin-api/testing';
import { Packages, QUIET } from '../../fixtures/packages.ts';
import { archive, type Member, writeTarball } from '../../fixtures/tarballs.ts';
import { type StoreBench, startStore } from './start.ts';

const packages = new Packages();
after(() => packages[Symbol.dispose]());
after(leakCheck());

const MANIFEST = 'id: guest\nversion: 1.0.0\nsummary: for a test\napi: ^1.0.0\nmain: ./index.mjs\n';
const GOOD: readonly Member[] = [
  { path: 'package/plugin.yaml', text: MANIFEST },
  { path: 'package/index.mjs', text: QUIET },
];
let count = 0;
const tarball = (members: readonly Member[]) => writeTarball(join(packages.root, `t${count++}.tgz`), members);
const raw = (bytes: Buffer, name = `t${count++}.tgz`) => {
  writeFileSync(join(packages.root, name), bytes);
  return join(packages.root, name);
};

/** Nothing of a package that was refused stays on the device. */
function nothingIsLeft({ place, host }: StoreBench): void {
  const left = existsSync(place) ? readdirSync(place).filter((name) => !name.startsWith('installed.yaml')) : [];
  assert.deepEqual(
    left.filter((name) => name !== '.staging' || readdirSync(join(place, name)).length > 0),
    [],
  );
  assert.deepEqual(readdirSync(dirname(host.device.paths.var)).sort(), ['etc', 'run', 'var']);
}

test('a tarball of the form that is refused below is taken when nothing is wrong with it', async () => {
  await using store = await startStore();
  const outcome = await store.install(tarball(GOOD));
  assert.deepEqual(
    [outcome.id, outcome.version, outcome.state, outcome.isolation],
    ['guest', '1.0.0', 'probation', 'process'],
  );
});

describe('a tarball is refused, and leaves nothing behind,', () => {
  const cases: readonly (readonly [what: string, file: () => string, reason: RegExp, config?: object])[] = [
    [
      'with a path above its folder',
      () => tarball([...GOOD, { path: 'package/../../evil', text: 'x' }]),
      /leads elsewhere/,
    ],
    ['with an absolute path', () => tarball([...GOOD, { path: '/tmp/evil', text: 'x' }]), /leads elsewhere/],
    ['with a backslash', () => tarball([...GOOD, { path: 'package/..\\evil', text: 'x' }]), /backslash/],
    ['with a control character', () => tarball([...GOOD, { path: 'package/a\u0007', text: 'x' }]), /control character/],
    [
      'with a symbolic link',
      () => tarball([...GOOD, { path: 'package/l', type: 'SymbolicLink', linkpath: '/etc' }]),
      /SymbolicLink/,
    ],
    [
      'with a hard link',
      () => tarball([...GOOD, { path: 'package/l', type: 'Link', linkpath: 'package/index.mjs' }]),
      /is a Link/,
    ],
    [
      'with a link that a file then goes through',
      () =>
        tarball([
          { path: 'package/d', type: 'SymbolicLink', linkpath: '/tmp' },
          ...GOOD,
          { path: 'package/d/evil', text: 'x' },
        ]),
      /SymbolicLink/,
    ],
    ['with a device', () => tarball([...GOOD, { path: 'package/mem', type: 'CharacterDevice' }]), /CharacterDevice/],
    ['with a block device', () => tarball([...GOOD, { path: 'package/disk', type: 'BlockDevice' }]), /BlockDevice/],
    ['with a pipe', () => tarball([...GOOD, { path: 'package/p', type: 'FIFO' }]), /FIFO/],
    ['with a setuid file', () => tarball([...GOOD, { path: 'package/su', text: 'x', mode: 0o4755 }]), /setuid/],
    [
      'with a setgid folder',
      () => tarball([...GOOD, { path: 'package/sg/', type: 'Directory', mode: 0o2755 }]),
      /setgid/,
    ],
    ['with a file twice', () => tarball([...GOOD, { path: 'package/index.mjs', text: 'x' }]), /comes twice/],
    ['with a file that is a folder, too', () => tarball([...GOOD, { path: 'package/index.mjs/x', text: 'x' }]), /./],
    ['with two top folders', () => tarball([...GOOD, { path: 'other/x', text: 'x' }]), /beside the folder/],
    ['with a file beside the folder', () => tarball([...GOOD, { path: 'x', text: 'x' }]), /beside the folder/],
    [
      'with too many files',
      () => tarball([...GOOD, { path: 'package/3', text: '' }]),
      /more than 2 files/,
      { maxFiles: 2 },
    ],
    [
      'with too many bytes',
      () => tarball([...GOOD, { path: 'package/big', text: 'x'.repeat(5000) }]),
      /more than 4096 bytes/,
      { maxBytes: 4096 },
    ],
    ['that is a bomb', () => raw(gzipSync(Buffer.alloc(64 << 20))), /goes on after its end/, { maxBytes: 65536 }],
    ['that claims more than it holds', () => tarball([...GOOD, { path: 'package/x', text: 'x', size: 5000 }]), /./],
    ['compressed twice', () => raw(gzipSync(gzipSync(archive(GOOD)))), /compressed twice/],
    ['that is not compressed', () => raw(archive(GOOD)), /header|gzip/i],
    ['cut off', () => raw(gzipSync(archive(GOOD)).subarray(0, 200)), /unexpected end/i],
    ['of zeroes', () => raw(gzipSync(Buffer.alloc(10_240))), /./],
    ['of noise', () => raw(gzipSync(Buffer.from('not a tarball at all'.repeat(100)))), /./],
    ['without bytes', () => raw(Buffer.alloc(0)), /./],
    ['without a manifest', () => tarball([{ path: 'package/index.mjs', text: QUIET }]), /no plugin\.yaml/],
    [
      'with the manifest too deep',
      () => tarball([{ path: 'package/x/plugin.yaml', text: MANIFEST }]),
      /no plugin\.yaml/,
    ],
    ['of another kind', () => raw(archive(GOOD), 'x.zip'), /neither a folder nor a \.tgz/],
  ];
  for (const [what, file, reason, config] of cases)
    test(what, async () => {
      await using store = await startStore(config);
      await assert.rejects(store.install(file()), (error: Error & { code?: string }) => {
        assert.equal(error.code, 'PACKAGE_INVALID', error.message);
        assert.match(error.message, reason);
        return true;
      });
      nothingIsLeft(store);
      assert.deepEqual((await store.call('plugins.installed')).plugins, []);
    });
});

describe('a folder is refused', () => {
  const cases: readonly (readonly [what: string, spoil: (folder: string) => void, reason: RegExp])[] = [
    ['with a symbolic link', (folder) => symlinkSync('/etc/passwd', join(folder, 'l')), /it is a link/],
    ['with a pipe', (folder) => execFileSync('mkfifo', [join(folder, 'p')]), /it is no file/],
    ['with too many bytes', (folder) => writeFileSync(join(folder, 'big'), Buffer.alloc(5000)), /more than 4096 bytes/],
    ['with a package.json that is none', (folder) => writeFileSync(join(folder, 'package.json'), '{'), /package\.json/],
  ];
  for (const [what, spoil, reason] of cases)
    test(what, async () => {
      await using store = await startStore({ maxBytes: 4096 });
      const folder = packages.folder();
      spoil(folder);
      await assert.rejects(store.install(folder), (error: Error) => reason.test(error.message));
      nothingIsLeft(store);
    });

  test('that is not there, or not named from the root', async () => {
    await using store = await startStore();
    await assert.rejects(store.install(join(packages.root, 'none')), { code: 'PACKAGE_INVALID' });
    await assert.rejects(store.install('guest'), /absolute path/);
  });
});

test('of a folder only what a package would hold is taken', async () => {
  await using store = await startStore();
  const folder = packages.folder({
    files: { '.git/HEAD': 'x', 'node_modules/left-pad/index.js': 'x', 'package-lock.json': '{}', 'lib/a.mjs': '' },
  });
  linkSync(join(folder, 'lib/a.mjs'), join(folder, 'lib/b.mjs'));
  await store.install(folder);
  assert.deepEqual(installedFiles(store), ['index.mjs', 'lib/a.mjs', 'lib/b.mjs', 'plugin.yaml']);
});

test('bundled dependencies come along, links of node_modules do not', async () => {
  await using store = await startStore();
  const folder = packages.folder({
    files: { 'package.json': '{ "bundleDependencies": ["left-pad"] }', 'node_modules/left-pad/index.js': 'x' },
  });
  mkdirSync(join(folder, 'node_modules/.bin'));
  symlinkSync('../left-pad/index.js', join(folder, 'node_modules/.bin/left-pad'));
  mkdirSync(join(folder, 'node_modules/@device-core'));
  symlinkSync(process.cwd(), join(folder, 'node_modules/@device-core/plugin-api'));
  await store.install(folder);
  assert.deepEqual(installedFiles(store), [
    'index.mjs',
    'node_modules/left-pad/index.js',
    'package.json',
    'plugin.yaml',
  ]);
});

test('a package of npm is the same plugin as its folder', async () => {
  await using store = await startStore();
  const folder = packages.folder({ files: { 'package.json': '{ "name": "guest", "version": "1.0.0" }' } });
  const args = ['pack', '--json', '--ignore-scripts', '--offline', '--pack-destination', packages.root];
  const output = execFileSync('npm', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  const [{ filename }] = JSON.parse(output) as [{ filename: string }];
  const packed = await store.install(join(packages.root, filename), { check: true });
  assert.equal(packed.state, 'checked');
  assert.equal((await store.install(folder)).hash, packed.hash);
});

function installedFiles({ place }: StoreBench): string[] {
  const [version = ''] = readdirSync(join(place, 'guest'));
  const names = readdirSync(join(place, 'guest', version), { recursive: true, withFileTypes: true });
  const below = join(place, 'guest', version).length + 1;
  return names
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(below))
    .sort();
}
