/** What reads images on the desk: verify, inspect, diff, sbom, archive. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, describe, suite, test } from 'node:test';
import { zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { archiveEnd, member, newKeyPair, REPRODUCIBLE } from '../../../plugin-api/inside/packages/index.ts';
import { writeArchive } from '../../../plugins/life/maker/image/archive.ts';
import { differenceBetween } from '../../../plugins/life/maker/image/diff.ts';
import { openImage } from '../../../plugins/life/maker/image/source.ts';
import { openArchive } from '../../../plugins/life/maker/image/unpack-archive.ts';
import { blobOf } from '../../../plugins/life/maker/image/write.ts';
import { tinyImage } from '../../fixtures/image.ts';

const DEVICECTL = resolve(import.meta.dirname, '../../../plugins/interface/cli/program/devicectl.ts');
const FOLDER = mkdtempSync(join(tmpdir(), 'dc-tools-'));
after(() => rmSync(FOLDER, { recursive: true, force: true }));
let made = 0;
const fresh = (): string => join(FOLDER, `${++made}`);

const LARGE = Buffer.alloc((4 << 20) + 7, 'x');
const TINY = tinyImage({ files: { 'lib/a.js': 'one', 'lib/large': LARGE } });
const fileOf = (path: string) => TINY.image.files.find((file) => file.path === path)!;
const differenceAt = (path: string): string | undefined => {
  using source = openImage(path);
  return source.difference()?.message;
};
const archiveOf = (folder: string): string => {
  const file = `${fresh()}.tar`;
  writeArchive(folder, file);
  return file;
};

function image(...words: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [DEVICECTL, 'image', ...words], {
    encoding: 'utf8',
    cwd: FOLDER,
  });
  return { status, stdout, stderr };
}

suite('reading images', () => {
  for (const [kind, path] of [
    ['folder', TINY.folder(fresh())],
    ['archive', archiveOf(TINY.folder(fresh()))],
    ['files', TINY.slot(fresh())],
  ] as const)
    test(`of kind ${kind}: the list, who signed, and every file`, () => {
      using source = openImage(path);
      assert.equal(source.kind, kind);
      assert.deepEqual(source.image, TINY.image);
      assert.equal(source.hash, TINY.hash);
      assert.equal(source.signatures, TINY.signatures);
      assert.equal(source.read(fileOf('lib/a.js')).toString(), 'one');
      assert.equal(source.difference(), undefined);
    });

  test('an archive is made whole or not at all, and missing files are named', () => {
    const folder = TINY.folder(fresh());
    const blob = blobOf(fileOf('lib/a.js'));
    rmSync(join(folder, blob));
    const file = `${fresh()}.tar`;
    const { status, stderr } = image('archive', folder, '--out', file);
    assert.equal(status, 1);
    assert.equal(stderr, `devicectl: SYSTEM_IMAGE_INVALID: ${folder}: ${blob} is missing\n`);
    const nowhere = join(`${fresh()}-nowhere`, 'image.tar');
    assert.match(
      image('archive', TINY.folder(fresh()), '--out', nowhere).stderr,
      /^devicectl: \w+: cannot write .*\n$/,
    );
    // Moved over a folder: written whole by then, and nothing of it stays.
    mkdirSync(join(file, 'full'), { recursive: true });
    assert.match(image('archive', TINY.folder(fresh()), '--out', file).stderr, /^devicectl: \w+: cannot write .*\n$/);
    assert.ok(!existsSync(`${file}.new`));
  });

  describe('the first file that differs is named', () => {
    for (const [what, harm, message] of [
      [
        'a blob that is missing',
        (folder) => rmSync(join(folder, blobOf(fileOf('lib/a.js')))),
        /^lib\/a\.js: its blob is/,
      ],
      [
        'a blob of other bytes',
        (folder) => writeFileSync(join(folder, blobOf(fileOf('lib/a.js'))), zstdCompressSync(Buffer.from('two'))),
        /^lib\/a\.js: it has another content/,
      ],
      [
        'a blob that unpacks to more than the list says',
        (folder) => writeFileSync(join(folder, blobOf(fileOf('lib/a.js'))), zstdCompressSync(Buffer.alloc(1 << 20))),
        /^lib\/a\.js: its blob cannot be unpacked/,
      ],
      [
        'a blob that is longer than any of its file',
        (folder) => appendFileSync(join(folder, blobOf(fileOf('lib/a.js'))), Buffer.alloc(1 << 16)),
        /^lib\/a\.js: its blob is larger/,
      ],
      [
        'a blob with a byte behind its end',
        (folder) => appendFileSync(join(folder, blobOf(fileOf('lib/a.js'))), 'x'),
        /^lib\/a\.js: its blob goes on behind/,
      ],
      [
        'a blob with a second frame, of nothing',
        (folder) => appendFileSync(join(folder, blobOf(fileOf('lib/large'))), zstdCompressSync('')),
        /^lib\/large: its blob goes on behind/,
      ],
      [
        'a blob that ends early',
        (folder) => truncateSync(join(folder, blobOf(fileOf('lib/large'))), 20),
        /^lib\/large: its blob cannot be unpacked/,
      ],
      [
        'one bit of a blob',
        (folder) => {
          const path = join(folder, blobOf(fileOf('lib/large')));
          const bytes = readFileSync(path);
          bytes[bytes.length - 6]! ^= 1;
          writeFileSync(path, bytes);
        },
        /^lib\/large: /,
      ],
      [
        'a file that nobody listed',
        (folder) => writeFileSync(join(folder, 'blobs/more.zst'), ''),
        /blobs\/more\.zst: the list/,
      ],
    ] as const satisfies readonly (readonly [string, (folder: string) => void, RegExp])[])
      test(what, () => {
        const folder = TINY.folder(fresh());
        harm(folder);
        assert.match(differenceAt(folder) ?? 'nothing', message);
        const { status, stderr } = image('verify', folder);
        assert.equal(status, 1);
        assert.match(stderr, /SYSTEM_IMAGE_INVALID/);
      });

    for (const [what, harm, message] of [
      ['a changed file', (slot) => writeFileSync(join(slot, 'lib/a.js'), 'two'), /^lib\/a\.js: it has another content/],
      ['a file more', (slot) => writeFileSync(join(slot, 'lib/b.js'), ''), /^lib\/b\.js: the list does not name it/],
      ['a link', (slot) => symlinkSync('a.js', join(slot, 'lib/b.js')), /^lib\/b\.js: it is a link/],
      ['setuid', (slot) => chmodSync(join(slot, 'bin/node'), 0o4755), /^bin\/node: its mode is 4755/],
    ] as const satisfies readonly (readonly [string, (slot: string) => void, RegExp])[])
      test(`in a slot: ${what}`, () => {
        const slot = TINY.slot(fresh());
        harm(slot);
        assert.match(differenceAt(slot) ?? 'nothing', message);
      });
  });

  test('the signer is asked of the keys of the devices', () => {
    const folder = TINY.folder(fresh());
    const keys = `${fresh()}.json`;
    writeFileSync(keys, JSON.stringify(TINY.keys));
    const good = image('verify', folder, '--keys', keys);
    assert.equal(good.status, 0, good.stderr);
    assert.match(good.stdout, /tiny 1\.0\.0, 5 files.*\n {2}signed by sha256:/);
    writeFileSync(keys, JSON.stringify({ keys: [{ key: newKeyPair().publicKey }], threshold: 1 }));
    const other = image('verify', folder, '--keys', keys);
    assert.equal(other.status, 1);
    assert.match(other.stderr, /SIGNATURE_INVALID.*0 of 1 signatures.*is not trusted/s);
  });

  test('no package is made of an image that its own devices would not take', () => {
    const keys = `${fresh()}.json`;
    writeFileSync(keys, JSON.stringify(TINY.keys));
    const deb = `${fresh()}.deb`;
    const packed = (folder: string) => image('deb', folder, '--keys', keys, '--out', deb);
    const edited = TINY.folder(fresh());
    const blob = join(edited, blobOf(fileOf('lib/a.js')));
    writeFileSync(blob, zstdCompressSync('two'));
    assert.match(packed(edited).stderr, /SYSTEM_IMAGE_INVALID: .*lib\/a\.js: it has another content/);
    const foreign = tinyImage({ files: { 'lib/a.js': 'one' } }).folder(fresh());
    assert.match(packed(foreign).stderr, /SIGNATURE_INVALID: .*is not trusted/);
    const unsigned = TINY.folder(fresh());
    rmSync(join(unsigned, 'image.sig'));
    assert.match(packed(unsigned).stderr, /SIGNATURE_INVALID: .*0 of 1 signatures: it has no signature/);
    assert.ok(!existsSync(deb));
  });

  test('inspect, diff and sbom say what there is', () => {
    const next = tinyImage({
      version: '1.1.0',
      files: { 'lib/a.js': 'two', 'sbom.json': '{"bomFormat":"CycloneDX"}' },
      plugins: { http: '1.0.0' },
      state: { 'changes/*.json': { reads: [1, 2], writes: 2 } },
    });
    const [one, two] = [TINY.folder(fresh()), archiveOf(next.folder(fresh()))];
    assert.match(image('inspect', one).stdout, /tiny 1\.0\.0 for linux .*\n.*1 signatures\n.*5 files, 4\.19 MB/);
    assert.equal(JSON.parse(image('inspect', two, '--json').stdout).version, '1.1.0');
    const { stdout } = image('diff', one, two, '--files');
    for (const part of [
      '1 files are new, 1 change, 1 go',
      'plugin http: none -> 1.0.0',
      '+ sbom.json',
      '~ lib/a.js',
      '- lib/large',
    ])
      assert.ok(stdout.includes(part), `${part} in ${stdout}`);
    assert.match(stdout, /state changes\/\*\.json: form none -> 2/);
    assert.equal(differenceBetween(TINY.image, next.image).fresh, 'two'.length + '{"bomFormat":"CycloneDX"}'.length);
    assert.equal(image('diff', one, one).stdout, 'the same image\n');
    assert.equal(JSON.parse(image('sbom', two).stdout).bomFormat, 'CycloneDX');
    assert.match(image('sbom', one).stderr, /holds no sbom\.json/);
  });

  test('a file that is no image is said to be none', () => {
    const text = fresh();
    writeFileSync(text, 'not a tar'.repeat(100));
    mkdirSync(join(FOLDER, 'empty'));
    assert.match(image('verify', text).stderr, /it is no tar/);
    assert.match(image('verify', join(FOLDER, 'empty')).stderr, /is no image: it has no image\.json/);
    assert.match(image('verify', join(FOLDER, 'nowhere')).stderr, /there is no image/);
    const broken = TINY.folder(fresh());
    writeFileSync(join(broken, 'image.json'), '{}');
    assert.match(image('verify', broken).stderr, /SYSTEM_IMAGE_INVALID.*form undefined of the list/s);
  });
});

suite('archives', () => {
  const tarOf = (entries: readonly (readonly [string, Uint8Array])[]): string => {
    const file = `${fresh()}.tar`;
    const parts = entries.flatMap(([name, bytes]) => member(name, bytes, { ...REPRODUCIBLE, mode: 0o644 }));
    writeFileSync(file, Buffer.concat([...parts, archiveEnd()]));
    return file;
  };
  const read = (file: string) => {
    using archive = openArchive(file);
    return archive.table;
  };

  test('tar(1) reads written archives, and writes readable ones; the same folder is the same bytes', () => {
    const folder = TINY.folder(fresh());
    const file = archiveOf(folder);
    assert.deepEqual(readFileSync(archiveOf(folder)), readFileSync(file));
    const to = fresh();
    mkdirSync(to);
    assert.equal(spawnSync('tar', ['xf', file, '-C', to]).status, 0);
    assert.deepEqual(readdirSync(join(to, 'blobs')).sort(), readdirSync(join(folder, 'blobs')).sort());
    const back = `${fresh()}.tar`;
    assert.equal(spawnSync('tar', ['cf', back, '-C', folder, '.']).status, 0);
    assert.equal(differenceAt(back), undefined);
  });

  test('any files come back as they were', () => {
    const entry = fc.tuple(fc.stringMatching(/^[a-z0-9./-]{1,90}$/), fc.uint8Array({ maxLength: 2000 }));
    fc.assert(
      fc.property(
        fc.uniqueArray(entry, { selector: ([name]) => name.replace(/^(?:\.\/)+/, ''), maxLength: 8 }),
        (entries) => {
          const file = tarOf(entries);
          const bytes = readFileSync(file);
          for (const [name, content] of entries) {
            const found = read(file).get(name.replace(/^(?:\.\/)+/, ''))!;
            assert.deepEqual(bytes.subarray(found.at, found.at + found.size), Buffer.from(content));
          }
        },
      ),
      { numRuns: 25 },
    );
  });

  test('one that was cut anywhere is refused', () => {
    const whole = readFileSync(
      tarOf([
        ['image.json', Buffer.from('{}')],
        ['blobs/x', Buffer.alloc(700)],
      ]),
    );
    for (let size = 0; size < 512 * 5; size += 128) {
      const file = fresh();
      writeFileSync(file, whole.subarray(0, size));
      assert.throws(() => read(file), /ends within|has no end/, `${size} bytes`);
    }
  });

  for (const [what, folder, message] of [
    ['a link', (to: string) => symlinkSync('/etc/passwd', join(to, 'image.json')), /is neither a file nor a folder/],
    ['a file twice', undefined, /comes twice/],
  ] as const)
    test(`one with ${what} is refused`, () => {
      const file = `${fresh()}.tar`;
      if (folder === undefined)
        copyFileSync(
          tarOf([
            ['a', Buffer.from('1')],
            ['a', Buffer.from('2')],
          ]),
          file,
        );
      else {
        const to = fresh();
        mkdirSync(to);
        folder(to);
        spawnSync('tar', ['cf', file, '-C', to, 'image.json']);
      }
      assert.throws(() => read(file), message);
    });
});
