/** The list of an image, its signatures, and what differs from it on a disk. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, test } from 'node:test';
import fc from 'fast-check';
import {
  differenceOf,
  type Image,
  ImageError,
  type ImageFile,
  imageHash,
  PIECE,
  parseImage,
  signImage,
  verifyImage,
} from '../../plugin-api/inside/image.ts';
import { newKeyPair } from '../../plugin-api/inside/packages/index.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'dc-image-'));
after(() => rmSync(FOLDER, { recursive: true, force: true }));

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
const file = (path: string, content = path, change: Partial<ImageFile> = {}): ImageFile => ({
  path,
  mode: 0o644,
  size: Buffer.byteLength(content),
  sha256: hashOf(content),
  ...change,
});
const IMAGE: Image = {
  image: 1,
  sku: 'kiosk',
  version: '1.2.0',
  builtAt: 1_760_000_000,
  minLoader: 1,
  severity: 'normal',
  platform: { os: 'linux', arch: 'x64', libc: 'glibc' },
  plugins: { http: '1.0.0' },
  state: { 'config.yaml': { reads: [1], writes: 1 } },
  files: [file('bin/node', 'node', { mode: 0o755 }), file('kernel/main.js')],
};
const bytes = (change: object = {}): Buffer => Buffer.from(JSON.stringify({ ...IMAGE, ...change }));
const withFiles = (...files: readonly object[]): Buffer => bytes({ files });

test('a list is read as it was written', () => assert.deepEqual(parseImage(bytes()), IMAGE));

describe('a list is refused', () => {
  for (const [what, list, reason] of [
    ['that is no JSON', Buffer.from('{'), /cannot be read/],
    ['that is no UTF-8', Buffer.from([0x7b, 0xff]), /cannot be read/],
    ['of a newer form', bytes({ image: 2 }), /form 2 of the list is not known/],
    ['without a version', bytes({ version: undefined }), /member version/],
    ['of no platform', bytes({ platform: { os: 'beos' } }), /member platform/],
    ['without files', bytes({ files: [] }), /member files/],
    ['of too many files', withFiles(...Array.from({ length: 100_001 }, () => ({}))), /member files/],
    ['with a path that leads elsewhere', withFiles(file('../etc/passwd')), /leads elsewhere/],
    ['with a path from the top', withFiles(file('/etc/passwd')), /leads elsewhere/],
    ['with a path of 256 characters', withFiles(file('x'.repeat(256))), /255 characters/],
    ['with a newline in a path', withFiles(file('a\nb')), /control character/],
    ['that names itself', withFiles(file('image.json')), /no files of the list/],
    ['with a file twice', withFiles(file('a'), file('a')), /twice/],
    ['that is not sorted', withFiles(file('b'), file('a')), /order/],
    ['with twins by case', withFiles(file('A'), file('a')), /case or accents/],
    ['with a path in another form of Unicode', withFiles(file('e\u0301')), /normal form/],
    ['with mode 0777', withFiles(file('a', 'a', { mode: 0o777 as 0o644 })), /mode is 511/],
    ['with setuid', withFiles(file('a', 'a', { mode: 0o4755 as 0o755 })), /mode is/],
    ['with half a byte', withFiles(file('a', 'a', { size: 0.5 })), /no size/],
    ['with another hash', withFiles(file('a', 'a', { sha256: 'md5' })), /no SHA-256/],
    ['with pieces of a small file', withFiles(file('a', 'a', { pieces: [hashOf('a')] })), /0 pieces/],
    ['with a text for pieces', withFiles({ ...file('a'), pieces: '' }), /0 pieces/],
    ['with an object for pieces', withFiles({ ...file('a'), pieces: { length: 0 } }), /0 pieces/],
    [
      'with lists for pieces',
      withFiles({ ...file('a'), size: PIECE + 1, pieces: [[hashOf('a')], [hashOf('b')]] }),
      /2 pieces/,
    ],
    ['without pieces of a large one', withFiles(file('a', 'a', { size: PIECE + 1 })), /2 pieces/],
    [
      'of more bytes than any device has',
      withFiles(
        ...['a', 'b', 'c'].map((one) =>
          file(one, one, { size: 2 ** 31, pieces: Array.from({ length: 512 }, () => hashOf('x')) }),
        ),
      ),
      /more than \d+ bytes/,
    ],
  ] as const)
    test(what, () =>
      assert.throws(
        () => parseImage(list),
        (error) => error instanceof ImageError && reason.test(error.message),
      ),
    );
});

test('so many different keys as the threshold says must have signed this very list, and none that has ended', () => {
  const [one, two, three] = [newKeyPair(), newKeyPair(), newKeyPair()];
  const hash = imageHash(bytes());
  const keys = [{ key: one.publicKey }, { key: two.publicKey, notAfter: 100 }];
  const both = signImage(hash, one.privateKey) + signImage(hash, two.privateKey);
  assert.deepEqual(verifyImage(hash, both, { keys, threshold: 2 }, 50), [one.fingerprint, two.fingerprint]);
  for (const [signatures, threshold, time, reason] of [
    [both, 2, 101, /1 of 2 signatures; sha256:\w+ has ended/],
    [signImage(hash, one.privateKey).repeat(2), 2, 0, /1 of 2/],
    [signImage(hash, three.privateKey), 1, 0, /is not trusted/],
    [signImage(imageHash(bytes({ version: '1.2.1' })), one.privateKey), 1, 0, /of another list/],
    ['', 0, 0, /0 of 1/],
  ] as const)
    assert.throws(() => verifyImage(hash, signatures, { keys, threshold }, time), {
      name: 'ImageError',
      message: reason,
    });
});

test('the longest list that a device takes is read, and a longer one is not even parsed', () => {
  const files = Array.from({ length: 100_000 }, (_, index) => ({
    path: `f/${String(index).padStart(6, '0')}`,
    mode: 0o644,
    size: 1,
    sha256: hashOf('x'),
  }));
  const list = bytes({ files });
  assert.ok(list.length < 32 << 20);
  assert.equal(parseImage(list).files.length, 100_000);
  assert.throws(() => parseImage(bytes({ files: [...files, { ...files[0], path: 'g' }] })), /member files/);
  assert.throws(() => parseImage(Buffer.alloc((32 << 20) + 1, '[')), /more than 33554432 bytes/);
});

test('a signature of something else is none: of a plugin, of the bare hash, of the list itself', () => {
  const key = newKeyPair();
  const hash = imageHash(bytes());
  const keys = { keys: [{ key: key.publicKey }], threshold: 1 };
  for (const text of [
    `device-core plugin ${hash}\n`,
    `device-core app ${hash}\n`,
    hash,
    bytes().toString('utf8'),
    '',
  ]) {
    const made = sign(null, Buffer.from(text), key.privateKey);
    const line = `${key.fingerprint} ${made.toString('base64')}\n`;
    assert.throws(() => verifyImage(hash, line, keys, 0), /0 of 1 signatures; .* is of another list/);
  }
  // Half a line, other base64, a thousand lines before the good one: nothing of it counts, nothing of it throws otherwise.
  const good = signImage(hash, key.privateKey);
  for (const text of [good.slice(0, 90), good.replace(/ .*/, ' !!'), 'x y\n'.repeat(1_000) + good])
    assert.throws(() => verifyImage(hash, text, keys, 0), { name: 'ImageError' });
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'pem', type: 'spki' });
  assert.throws(() => verifyImage(hash, good, { keys: [{ key: `${rsa}` }], threshold: 1 }, 0), /rsa, not Ed25519/);
});

test('any bytes make a list or a reason, never another error', () => {
  const member = fc.constantFrom(
    'image',
    'sku',
    'version',
    'platform',
    'builtAt',
    'plugins',
    'minLoader',
    'state',
    'severity',
    'files',
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.json(),
        fc.tuple(member, fc.jsonValue()).map(([name, value]) => bytes({ [name]: value }).toString()),
      ),
      (text) => {
        try {
          parseImage(Buffer.from(text));
        } catch (error) {
          assert.ok(error instanceof ImageError, String(error));
        }
      },
    ),
    { numRuns: 300 },
  );
});

describe('on the disk', () => {
  const fresh = (name: string): string => {
    const folder = join(FOLDER, name);
    for (const { path, mode } of IMAGE.files) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), path === 'bin/node' ? 'node' : path);
      chmodSync(join(folder, path), mode);
    }
    writeFileSync(join(folder, 'image.json'), bytes());
    return folder;
  };
  test('nothing differs where all is as the list has it', () => {
    assert.equal(differenceOf(fresh('good'), IMAGE), undefined);
    assert.equal(differenceOf(fresh('good'), IMAGE, 'quick'), undefined);
  });
  for (const [what, harm, message] of [
    [
      'a file that is missing',
      (folder: string) => rmSync(join(folder, 'kernel/main.js')),
      'kernel/main.js: it is missing',
    ],
    [
      'a changed bit',
      (folder: string) => writeFileSync(join(folder, 'bin/node'), 'nodf'),
      'bin/node: it has another content',
    ],
    [
      'a file cut short',
      (folder: string) => truncateSync(join(folder, 'bin/node'), 1),
      'bin/node: it has 1 bytes, not 4',
    ],
    ['another mode', (folder: string) => chmodSync(join(folder, 'bin/node'), 0o4755), 'bin/node: its mode is 4755'],
    [
      'a file more',
      (folder: string) => writeFileSync(join(folder, 'kernel/more.js'), ''),
      'kernel/more.js: the list does not name it',
    ],
    [
      'a link in a file’s place',
      (folder: string) => {
        rmSync(join(folder, 'bin/node'));
        symlinkSync('/bin/true', join(folder, 'bin/node'));
      },
      'bin/node: it is a link',
    ],
    [
      'a link to a folder',
      (folder: string) => symlinkSync('/etc', join(folder, 'kernel/etc')),
      'kernel/etc: it is a link',
    ],
    [
      'a pipe in a file’s place',
      (folder: string) => {
        rmSync(join(folder, 'bin/node'));
        execFileSync('mkfifo', [join(folder, 'bin/node')]);
      },
      'bin/node: it is no file',
    ],
    [
      'a folder in a file’s place',
      (folder: string) => {
        rmSync(join(folder, 'kernel/main.js'));
        mkdirSync(join(folder, 'kernel/main.js'));
      },
      'kernel/main.js: it is missing',
    ],
  ] as const)
    test(`${what} is named`, () => {
      const folder = fresh(what.replaceAll(/\W/g, '-'));
      harm(folder);
      assert.equal(differenceOf(folder, IMAGE)?.message, message);
    });
  test('a folder that is not there is a difference, not a crash', () =>
    assert.match(String(differenceOf(join(FOLDER, 'none'), IMAGE)), /ENOENT/));
});
