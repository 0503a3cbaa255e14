import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import fc from 'fast-check';
import { differenceOf, parseImage, verifyImage } from '../../../plugin-api/inside/image.ts';
import { isOneFrame } from '../../../plugin-api/inside/image-folder.ts';
import { sha256 } from '../../../plugins/life/maker/image/list.ts';
import { tinyImage } from '../../fixtures/image.ts';
import { runs } from '../../fixtures/runs.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'dc-made-'));
after(() => rmSync(FOLDER, { recursive: true, force: true }));

suite('an image folder', () => {
  test('has the list, its signatures, and each content once as a blob that is named by its hash', () => {
    const tiny = tinyImage({ files: { 'a.txt': 'same', 'b.txt': 'same', large: Buffer.alloc((4 << 20) + 1) } });
    const folder = tiny.folder(join(FOLDER, 'tiny'));
    assert.deepEqual(readdirSync(folder), ['blobs', 'image.json', 'image.sig']);
    const image = parseImage(readFileSync(join(folder, 'image.json')));
    assert.deepEqual(image, tiny.image);
    assert.equal(verifyImage(tiny.hash, readFileSync(join(folder, 'image.sig'), 'utf8'), tiny.keys, 0).length, 1);
    const wanted = [...new Set(image.files.map((file) => `${file.sha256}.zst`))].sort();
    assert.deepEqual(readdirSync(join(folder, 'blobs')).sort(), wanted);
    for (const name of wanted)
      assert.equal(`${sha256(zstdDecompressSync(readFileSync(join(folder, 'blobs', name))))}.zst`, name);
    assert.equal(image.files.find(({ path }) => path === 'large')?.pieces?.length, 2);
  });

  test('takes the place of what lay there', () => {
    const folder = tinyImage().folder(join(FOLDER, 'again'));
    writeFileSync(join(folder, 'old'), '');
    tinyImage().folder(folder);
    assert.deepEqual(readdirSync(folder), ['blobs', 'image.json', 'image.sig']);
  });

  test('has blobs of one zstd frame: bytes before, behind or in the place of it are seen', () => {
    const file = join(FOLDER, 'blob');
    const both = (bytes: Buffer): boolean => {
      writeFileSync(file, bytes);
      const handle = openSync(file, 'r');
      try {
        const answer = isOneFrame(bytes);
        assert.equal(isOneFrame(handle), answer);
        return answer;
      } finally {
        closeSync(handle);
      }
    };
    const skipped = Buffer.from('502a4d18040000006576696c', 'hex');
    const content = fc.oneof(
      fc.uint8Array({ maxLength: 600 }),
      fc.nat(400_000).map((size) => Buffer.alloc(size, 'again')),
      fc.nat(300_000).map((size) => randomBytes(size)),
    );
    const more = fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 40 }),
      fc.constantFrom(skipped, zstdCompressSync(''), zstdCompressSync('more'), Buffer.alloc(131_072)),
    );
    fc.assert(
      fc.property(content, more, fc.boolean(), fc.constantFrom(1, 3, 12), (plain, other, checksum, level) => {
        const { ZSTD_c_checksumFlag: flag, ZSTD_c_compressionLevel: speed } = constants;
        const blob = zstdCompressSync(plain, { params: { [flag]: Number(checksum), [speed]: level } });
        assert.ok(both(blob));
        assert.ok(!both(Buffer.concat([blob, other])));
        assert.ok(!both(blob.subarray(0, -1)));
        assert.ok(!both(Buffer.concat([skipped, blob])));
      }),
      { numRuns: runs(100) },
    );
    assert.ok(!both(Buffer.alloc(0)));
  });

  test('is a slot when it is unpacked', () => {
    const tiny = tinyImage({ files: { 'deep/er/file': 'x' } });
    assert.equal(differenceOf(tiny.slot(join(FOLDER, 'slot')), tiny.image), undefined);
  });
});
