/** Long answers for clients that take them packed: the same JSON, and nothing else of the answer changes. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { CoreError } from '@device-core/plugin-api';
import type { Operation } from '@device-core/plugin-api/services/operations';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { acceptsGzip } from '../../../plugins/interface/http/packing.ts';
import { runs } from '../../fixtures/runs.ts';
import { type Front, startFront } from './front.ts';

const noLeaks = leakCheck();

const LIST = Object.freeze({ rows: Array.from({ length: 600 }, (_, n) => ({ n, text: 'naïve ☕ 🙂' })) });
const row = (name: string, result: () => unknown, more: object = {}): Operation<never, unknown> =>
  ({
    name,
    summary: name,
    anonymous: true,
    params: { type: 'object' },
    result: {},
    errors: [],
    rest: { method: 'GET', path: `/${name.replace('.', '-')}`, ...more },
    run: async () => result(),
  }) as Operation<never, unknown>;

let front: Front;
before(async () => {
  front = await startFront([
    row('test.long', () => ({ ...LIST })),
    row('test.document', () => LIST, { bare: true }),
    row('test.short', () => ({ text: 'x'.repeat(8_000) })),
    row('test.text', () => 'metric 1\n'.repeat(2_000), { text: 'text/plain; version=0.0.4' }),
    row('test.wrong', () => {
      throw new CoreError('UNAVAILABLE', { what: 'it', reason: 'x'.repeat(20_000) });
    }),
  ]);
});
after(async () => {
  await front[Symbol.asyncDispose]();
  assert.deepEqual(front.host.leaks(), []);
  await noLeaks();
});

interface Got {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
}

async function get(path: string, accept?: string, { method = 'GET', unix = false } = {}): Promise<Got> {
  const to = unix ? { socketPath: front.socket } : { host: '127.0.0.1', port: front.port };
  const headers = accept === undefined ? {} : { 'accept-encoding': accept };
  const sent = request({ ...to, path, method, agent: false, headers });
  sent.end();
  const [response] = await once(sent, 'response');
  return { status: response.statusCode, headers: response.headers, bytes: await buffer(response) };
}

describe('an answer of more than 8 KiB', () => {
  for (const accept of ['gzip', 'gzip, deflate, br, zstd', 'br;q=1.0, GZIP;q=0.5', '*', 'x-gzip'])
    for (const path of ['/test-long', '/test-document'])
      test(`of ${path} is packed for "${accept}"`, async () => {
        const [plain, packed] = [await get(path), await get(path, accept)];
        assert.equal(packed.headers['content-encoding'], 'gzip');
        assert.equal(packed.headers['content-length'], String(packed.bytes.length));
        assert.deepEqual(gunzipSync(packed.bytes), plain.bytes);
        assert.ok(packed.bytes.length < plain.bytes.length / 4, `${packed.bytes.length} of ${plain.bytes.length}`);
        for (const one of [plain, packed]) {
          assert.equal(one.headers.vary, 'accept-encoding');
          assert.equal(one.headers['content-type'], 'application/json; charset=utf-8');
        }
      });

  for (const accept of [undefined, '', 'identity', 'br', 'gzip;q=0', 'gzip; q=0.000, br', '*;q=0', 'gzipped', ';;,,'])
    test(`goes out as it is for ${JSON.stringify(accept)}`, async () => {
      const { headers, bytes } = await get('/test-long', accept);
      assert.equal(headers['content-encoding'], undefined);
      assert.deepEqual(JSON.parse(bytes.toString()), { ok: true, ...LIST });
    });

  test('is packed on the Unix socket for those who ask, too, and keeps its status where it is an error', async () => {
    const { headers, bytes, status } = await get('/test-wrong', 'gzip', { unix: true });
    assert.deepEqual([status, headers['content-encoding']], [503, 'gzip']);
    assert.equal(JSON.parse(gunzipSync(bytes).toString()).code, 'UNAVAILABLE');
  });

  test('has no body and the length of the plain one for HEAD', async () => {
    const plain = await get('/test-long');
    const { headers, bytes } = await get('/test-long', 'gzip', { method: 'HEAD' });
    assert.deepEqual([bytes.length, headers['content-length']], [0, plain.headers['content-length']]);
  });

  test('comes whole to each of many that ask at once, packed or not', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => get('/test-long', 'gzip')));
    for (const { headers, bytes } of all) {
      const text = headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes;
      assert.equal(JSON.parse(text.toString()).rows.length, LIST.rows.length);
    }
  });

  test('comes in order to requests in one piece', async () => {
    const head = (path: string) =>
      `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${front.port}\r\naccept-encoding: gzip\r\n${path === '/test-short' ? 'connection: close\r\n' : ''}\r\n`;
    const client = connect(front.port, '127.0.0.1');
    client.write(head('/test-long') + head('/test-short'));
    const text = (await buffer(client)).toString('latin1');
    assert.deepEqual(
      [...text.matchAll(/HTTP\/1\.1 200|content-encoding: gzip|x{100}/gi)].map(([one]) => one.slice(0, 8)).slice(0, 4),
      ['HTTP/1.1', 'content-', 'HTTP/1.1', 'xxxxxxxx'],
    );
  });

  test('is dropped for a client that has gone meanwhile', async () => {
    for (let turn = 0; turn < 10; turn++) {
      const client = connect(front.port, '127.0.0.1');
      client.on('error', () => undefined);
      await once(client, 'connect');
      client.write(`GET /test-long HTTP/1.1\r\nhost: 127.0.0.1:${front.port}\r\naccept-encoding: gzip\r\n\r\n`);
      client.destroy();
    }
    assert.equal((await get('/test-long', 'gzip')).status, 200);
  });
});

for (const path of ['/test-short', '/test-text'])
  test(`an answer that is short or no JSON goes out as it is: ${path}`, async () => {
    const { headers } = await get(path, 'gzip');
    assert.equal(headers['content-encoding'], undefined);
  });

test('any header of a client is read, and gzip is sent only where it names it or all', () => {
  const part = fc.oneof(fc.constantFrom('gzip', '*', ';q=0', ';q=1', ',', ' ', 'GZIP', 'x-gzip'), fc.string());
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
      const header = parts.join('');
      if (acceptsGzip(header)) assert.match(header, /gzip|\*/i);
    }),
    { numRuns: runs(300) },
  );
});
