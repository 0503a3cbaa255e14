/** Blobs as a web server hands them out: what came stays, what is missing is asked for, and no answer is longer than it was said to be. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { openRepository } from '../../../plugins/life/updater/repository/index.ts';
import type { Source } from '../../../plugins/life/updater/repository.ts';
import { type Part, part } from '../../fixtures/scope.ts';
import { PLATFORM } from '../../fixtures/update-repository.ts';
import * as web from '../../fixtures/update-server.ts';
import { UpdateServer } from '../../fixtures/update-server.ts';

after(leakCheck());

const SHA = 'ab'.repeat(32);
const BLOB = { sha256: SHA, size: 1 << 20 };
const BYTES = Buffer.from(Array.from({ length: 100_000 }, (_, nth) => (nth * 7) % 251));

const otherPart: web.Answer = (_, response) =>
  void response.writeHead(206, { 'content-range': 'bytes 0-9/100000' }).end('0123456789');

suite('blobs of a repository', () => {
  let place: string;
  let server: UpdateServer;
  let owner: Part;
  let to: string;

  before(async () => {
    place = await mkdtemp(join(tmpdir(), 'dc-blobs-'));
    await mkdir(join(place, 'web', 'blobs'), { recursive: true });
    await writeFile(join(place, 'web', 'blobs', `${SHA}.zst`), BYTES);
    server = await UpdateServer.open(join(place, 'web'));
    owner = part();
    to = join(place, 'blob.part');
  });
  after(async () => {
    await owner[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
    await rm(place, { recursive: true, force: true });
  });

  const source = (answerMs = 60_000): Source =>
    openRepository({
      url: server.url,
      sku: 'kiosk',
      platform: PLATFORM,
      folder: place,
      root: join(place, 'root.json'),

      scope: owner.scope,
      log: owner.log,
      time: () => assert.fail('nobody asks'),
      answerMs,
      leastBytesPerSecond: 1000,
    });
  const fetched = async (from = 0, most = BYTES.length, signal = new AbortController().signal, answerMs?: number) => {
    await writeFile(to, BYTES.subarray(0, from));
    let took = 0;
    await source(answerMs).fetchBlob(BLOB, to, { from, most, signal, took: (bytes) => (took += bytes) });
    return took;
  };

  test('a blob comes whole, and from where it broke off', async () => {
    server.answer();
    assert.equal(await fetched(), BYTES.length);
    assert.deepEqual(await readFile(to), BYTES);
    assert.equal(await fetched(60_000), BYTES.length - 60_000);
    assert.deepEqual(await readFile(to), BYTES);
  });

  test('a server that knows no parts begins anew, and so does one that has less than is here', async () => {
    server.answer([/blobs/, (_, response, body) => void response.writeHead(200).end(body)]);
    assert.equal(await fetched(60_000), BYTES.length);
    assert.deepEqual(await readFile(to), BYTES);
    server.answer([/blobs/, (request, response, body) => web.plain(request, response, body?.subarray(0, 50_000))]);
    assert.equal(await fetched(60_000), 50_000);
    assert.deepEqual(await readFile(to), BYTES.subarray(0, 50_000));
  });

  const REFUSED: readonly (readonly [name: string, answer: web.Answer, reason: RegExp, kept: number | undefined])[] = [
    ['404', web.status(404), /it has no blobs\/(ab)+\.zst \(404\)/, 10_000],
    ['500', web.status(500), /it answers 500/, 10_000],
    ['a web page', web.page, /a web page/, 10_000],
    ['longer than said', web.endless, /has more than 100000 bytes/, undefined],
    ['a length that is longer than said', withLength(BYTES.length + 1), /has 100001 bytes, more than 100000/, 10_000],
    ['an end in the middle', web.cutOff, /the connection broke off/, undefined],
    ['another part', otherPart, /another part of blobs/, 10_000],
    ['redirects without an end', web.leadsTo((path) => `${path}x`), /from one address to the next/, 10_000],
    ['a redirect to somewhere else', web.leadsTo(() => 'http://mirror.invalid/'), /leads to mirror\.invalid/, 10_000],
  ];
  for (const [name, answer, reason, kept] of REFUSED)
    test(`${name}: refused, and the file here is a beginning of it`, async () => {
      server.answer([/blobs/, answer]);
      await assert.rejects(fetched(10_000), { code: 'REPOSITORY_FAILED', message: reason });
      const left = await readFile(to);
      if (kept !== undefined) assert.equal(left.length, kept);
      assert.ok(left.length <= BYTES.length, `${left.length} bytes were written`);
      assert.ok(left.equals(BYTES.subarray(0, left.length)), 'what is here is a beginning of it');
    });

  test('one that comes too slowly is given up, and what came of it stays', async () => {
    server.answer([
      /blobs/,
      (_, response, body) => {
        response.writeHead(200);
        response.write(body!.subarray(0, 20_000));
      },
    ]);
    await assert.rejects(fetched(0, BYTES.length, undefined, 300), {
      code: 'REPOSITORY_FAILED',
      message: /too slow, or silent \(300 ms\)/,
    });
    assert.deepEqual(await readFile(to), BYTES.subarray(0, 20_000));
  });

  test('a network that begins to cost money ends it with the given reason, and its bytes stay', async () => {
    const over = new AbortController();
    const reason = new Error('the network is metered');
    server.answer([
      /blobs/,
      (_, response, body) => {
        response.writeHead(200);
        response.write(body!.subarray(0, 30_000), () => undefined);
      },
    ]);
    await writeFile(to, '');
    const took = (bytes: number) => {
      came += bytes;
      if (came >= 30_000) over.abort(reason);
    };
    let came = 0;
    const options = { from: 0, most: BYTES.length, signal: over.signal, took };
    await assert.rejects(source().fetchBlob(BLOB, to, options), reason);
    assert.deepEqual(await readFile(to), BYTES.subarray(0, 30_000));
  });

  test('a disk that is no place for it is named as the disk', async () => {
    server.answer();
    const options = { from: 0, most: BYTES.length, signal: new AbortController().signal };
    await assert.rejects(source().fetchBlob(BLOB, join(place, 'nowhere', 'blob'), options), {
      code: 'STATE_UNWRITABLE',
    });
    await assert.rejects(source().fetchBlob(BLOB, '/dev/full', options), { code: 'STORAGE_FULL' });
  });
});

function withLength(length: number): web.Answer {
  return (_, response) => void response.writeHead(200, { 'content-length': length }).write('x');
}
