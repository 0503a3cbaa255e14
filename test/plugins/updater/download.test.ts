/** Blobs: each whole or absent, whatever the source hands out, and never more than there is room for. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { zstdCompressSync } from 'node:zlib';
import { CoreError } from '@device-core/plugin-api';
import { longestBlob } from '@device-core/plugin-api/inside/image-folder';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { bytesToFetch, download, roomFor, sweep } from '../../../plugins/life/updater/download.ts';
import type { Blob, BlobOptions, Source } from '../../../plugins/life/updater/repository.ts';
import { codeOf } from '../../fixtures/operation-calls.ts';
import { runs } from '../../fixtures/runs.ts';

after(leakCheck());

interface Content extends Blob {
  readonly plain: Buffer;
  readonly packed: Buffer;
}

const contentOf = (plain: Buffer): Content => ({
  plain,
  packed: zstdCompressSync(plain),
  size: plain.length,
  sha256: createHash('sha256').update(plain).digest('hex'),
});
const noise = (seed: number, size: number): Buffer => {
  const bytes = Buffer.alloc(size);
  for (let at = 0, word = seed * 2_654_435_761 + 1; at < size; at += 1) {
    word = (Math.imul(word, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[at] = word >>> 24;
  }
  return bytes;
};
const CONTENTS = [
  contentOf(noise(1, 4_000)),
  contentOf(noise(2, 9_000)),
  contentOf(Buffer.alloc(50_000)),
  contentOf(Buffer.alloc(0)),
];

/** What becomes of the n-th request. */
type Fate = (
  nth: number,
  blob: Content,
  from: number,
) => { readonly bytes: Buffer; readonly error?: Error; readonly anew?: boolean };

class Place implements Source, Disposable {
  readonly kind = 'repository';
  readonly name = 'a test';
  readonly folder = join(mkdtempSync(join(tmpdir(), 'db-')), 'blobs');
  readonly asked: { readonly sha256: string; readonly from: number; readonly sent: number }[] = [];
  /** What failed, each with the number of its try. */
  readonly failed: string[] = [];
  fate: Fate = (_nth, { packed }, from) => ({ bytes: packed.subarray(from) });

  async newest(): Promise<undefined> {
    return undefined;
  }

  async fetchBlob({ sha256 }: Blob, to: string, { from, most, took }: BlobOptions): Promise<void> {
    const blob = CONTENTS.find((one) => one.sha256 === sha256);
    assert.ok(blob);
    const { bytes, error, anew } = this.fate(this.asked.length, blob, from);
    const sent = bytes.subarray(0, Math.max(0, most - (anew ? 0 : from)));
    this.asked.push({ sha256, from, sent: sent.length });
    if (from === 0 || anew) writeFileSync(to, sent);
    else appendFileSync(to, sent);
    took?.(sent.length);
    if (error) throw error;
    if (sent.length < bytes.length)
      throw new CoreError('REPOSITORY_FAILED', { url: 'a test', reason: 'it is too long' });
  }

  fetch(
    blobs: readonly Blob[],
    { tries = 3, signal = new AbortController().signal, told = [] as number[][], says = 0 } = {},
  ) {
    const compressed = new Map(CONTENTS.map(({ sha256, packed }) => [sha256, says || packed.length]));
    const progress = (done: number, of: number) => void told.push([done, of]);
    return download(blobs, {
      source: this,
      folder: this.folder,
      compressed,
      signal,
      progress,
      tries,
      pause: async () => undefined,
      failed: ({ code }, nth) => void this.failed.push(`${nth} ${code}`),
    });
  }

  get names(): readonly string[] {
    return readdirSync(this.folder).sort();
  }

  /** Nothing has a whole name that is not whole. */
  check(): void {
    for (const name of this.names) {
      const content = CONTENTS.find(({ sha256 }) => name === `${sha256}.zst`);
      if (name.endsWith('.part')) continue;
      assert.ok(content, name);
      assert.deepEqual(readFileSync(join(this.folder, name)), content.packed);
    }
  }

  [Symbol.dispose](): void {
    rmSync(join(this.folder, '..'), { recursive: true, force: true });
  }
}

const failed = new CoreError('REPOSITORY_FAILED', { url: 'a test', reason: 'the line is cut' });
const [first, second, third] = CONTENTS as [Content, Content, Content, Content];
const bomb = zstdCompressSync(Buffer.alloc(64 << 20));

describe('a download', () => {
  it('tells each try that failed, and is not further than it was when a blob holds something else', async () => {
    using place = new Place();
    place.fate = (nth, { packed }, from) => {
      if (nth === 0) return { bytes: Buffer.alloc(packed.length) };
      if (nth === 1) return { bytes: packed.subarray(0, 10), error: failed };
      return { bytes: packed.subarray(from) };
    };
    const told: number[][] = [];
    await place.fetch([first], { told });
    assert.deepEqual(place.failed, ['1 REPOSITORY_UNTRUSTED', '2 REPOSITORY_FAILED']);
    const of = first.packed.length;
    assert.deepEqual(
      told.map(([done]) => done),
      [0, of, 0, 10, of],
    );
  });

  it('brings each blob once, tells how far it is, and asks for nothing that is there', async () => {
    using place = new Place();
    const told: number[][] = [];
    await place.fetch([...CONTENTS, first], { told });
    place.check();
    assert.equal(place.names.length, CONTENTS.length);
    const all = CONTENTS.reduce((sum, { packed }) => sum + packed.length, 0);
    assert.deepEqual(
      [told[0], told.at(-1)],
      [
        [0, all],
        [all, all],
      ],
    );
    place.asked.length = 0;
    await place.fetch(CONTENTS);
    assert.deepEqual(place.asked, []);
  });

  const BAD: readonly (readonly [string, Fate, string | undefined, number])[] = [
    [
      'is cut once',
      (nth, { packed }, from) =>
        nth === 0 ? { bytes: packed.subarray(from, 100), error: failed } : { bytes: packed.subarray(from) },
      undefined,
      1,
    ],
    [
      'begins anew where it was asked to go on',
      (nth, { packed }, from) =>
        nth === 0 ? { bytes: packed.subarray(from, 100), error: failed } : { bytes: packed, anew: true },
      undefined,
      2,
    ],
    [
      'is another one once',
      (nth, { packed }, from) => ({
        bytes: nth === 0 ? second.packed.subarray(0, packed.length) : packed.subarray(from),
      }),
      undefined,
      2,
    ],
    ['is never right', () => ({ bytes: second.packed.subarray(0, 1_000) }), 'REPOSITORY_UNTRUSTED', 3],
    ['is a page of a portal', () => ({ bytes: Buffer.from('<html>sign in</html>') }), 'REPOSITORY_UNTRUSTED', 3],
    [
      'has more behind it than said',
      (_nth, { packed }, from) => ({ bytes: Buffer.concat([packed, packed]).subarray(from) }),
      undefined,
      4,
    ],
    ['unpacks to more than its file', () => ({ bytes: bomb }), 'REPOSITORY_UNTRUSTED', 3],
    ['never comes', () => ({ bytes: Buffer.alloc(0), error: failed }), 'REPOSITORY_FAILED', 3],
  ];
  for (const [what, fate, code] of BAD)
    it(`${code ? `fails with ${code}` : 'comes to its end'} where a blob ${what}, and leaves no half one`, async () => {
      using place = new Place();
      place.fate = fate;
      if (code) assert.equal(await codeOf(place.fetch([first])), code);
      else await place.fetch([first]);
      place.check();
      assert.equal(place.names.includes(`${first.sha256}.zst`), code === undefined);
    });

  it('goes on where it was cut, with at most one blob again, wherever that was', async () => {
    const blobs = CONTENTS.slice(0, 3);
    const all = blobs.reduce((sum, { packed }) => sum + packed.length, 0);
    const largest = Math.max(...blobs.map(({ packed }) => packed.length));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(all), { maxLength: 4 }), fc.boolean(), async (cuts, ranges) => {
        using place = new Place();
        for (const cut of [...cuts, Number.POSITIVE_INFINITY]) {
          let left = cut;
          place.fate = (_nth, { packed }, from) => {
            const bytes = ranges ? packed.subarray(from) : packed;
            const sent = bytes.subarray(0, Math.min(left, bytes.length));
            left -= sent.length;
            return { bytes: sent, ...(sent.length < bytes.length ? { error: failed } : {}), anew: !ranges };
          };
          await place.fetch(blobs, { tries: 1 }).catch((error) => assert.equal(error.code, 'REPOSITORY_FAILED'));
          place.check();
        }
        assert.equal(place.names.length, blobs.length);
        const sent = place.asked.reduce((sum, one) => sum + one.sent, 0);
        assert.ok(sent <= all + cuts.length * largest, `${sent} of ${all}`);
        if (ranges) assert.equal(sent, all);
      }),
      { numRuns: runs(100) },
    );
  });

  it('takes no more of a blob than its file can need, from any source', async () => {
    using place = new Place();
    const huge = Buffer.concat([first.packed, Buffer.alloc(1 << 20)]);
    place.fate = (_nth, _blob, from) => ({ bytes: huge.subarray(from) });
    const told: number[][] = [];
    await assert.rejects(place.fetch([first], { says: 8 * 2 ** 30, tries: 1, told }));
    assert.equal(place.asked[0]?.sent, longestBlob(first.size));
    assert.deepEqual(told[0], [0, longestBlob(first.size)]);
    place.check();
  });

  it('ends with its signal', async () => {
    using place = new Place();
    const abort = new AbortController();
    place.fate = (_nth, { packed }) => {
      abort.abort(new Error('held back'));
      return { bytes: packed.subarray(0, 10), error: failed };
    };
    await assert.rejects(place.fetch([first], { signal: abort.signal }), /held back|line is cut/);
    place.check();
  });

  it('says what has still to travel, and what there is room for', async () => {
    using place = new Place();
    mkdirSync(place.folder, { recursive: true });
    writeFileSync(join(place.folder, `${first.sha256}.zst`), first.packed);
    writeFileSync(join(place.folder, `${second.sha256}.part`), second.packed.subarray(0, 1_000));
    const known = new Map([[second.sha256, second.packed.length]]);
    const { bytes, missing } = await bytesToFetch(place.folder, [first, second, third, third], known);
    assert.equal(bytes, second.packed.length - 1_000 + longestBlob(third.size));
    assert.deepEqual(
      missing.map(({ sha256 }) => sha256),
      [second.sha256, third.sha256],
    );
    assert.equal(await roomFor(place.folder, 20_000, 0), 20_000 - first.packed.length - 1_000);
    assert.ok((await roomFor(place.folder, 20_000, Number.MAX_SAFE_INTEGER)) < 0);
    await sweep(place.folder, new Set([second.sha256]));
    assert.deepEqual(place.names, [`${second.sha256}.part`]);
    await sweep(join(place.folder, 'absent'), new Set());
  });
});
