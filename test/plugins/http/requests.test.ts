import assert from 'node:assert/strict';
import { createHook } from 'node:async_hooks';
import { once } from 'node:events';
import { link, stat, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { CoreError, type CoreErrorCode, ERROR_CODES } from '@device-core/plugin-api';
import type { Operation } from '@device-core/plugin-api/services/operations';
import { ISOLATION_VARIABLE, leakCheck } from '@device-core/plugin-api/testing';
import { eventually } from '../../fixtures/eventually.ts';
import { type AskOptions, FLASH, type Front, PLAIN, startFront } from './front.ts';
import { FIND, ROWS } from './rows.ts';

const noLeaks = leakCheck();

let front: Front;
const tokens: Record<string, string> = {};
before(async () => {
  front = await startFront(ROWS);
  tokens.operator = front.operatorToken;
  tokens.flash = await front.identity.issue(FLASH);
  tokens.plain = await front.identity.issue(PLAIN);
  tokens.stopped = await front.identity.issue('com.example.stopped');
  await front.identity.revoke('com.example.stopped');
});
after(async () => {
  await front[Symbol.asyncDispose]();
  assert.deepEqual(front.host.leaks(), []);
  await noLeaks();
});

const TRANSFER = { handle: 'flash', tx: 'nw==', rxLen: 3 };

for (const framing of ['content-length: 1048576', 'transfer-encoding: chunked'])
  it(`tells who writes all of a body that is too long before it reads, with ${framing}`, async () => {
    const client = connect(front.socket);
    const head = `POST /SPI_transfer_txrx HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${framing}\r\n`;
    const chunked = framing.startsWith('transfer');
    client.pause().write(`${head}authorization: Bearer ${tokens.flash}\r\n\r\n${chunked ? '100000\r\n' : ''}`);
    const written = promisify(client.write.bind(client) as (bytes: string) => void);
    await written(`${'x'.repeat(1_048_576)}${chunked ? '\r\n0\r\n\r\n' : ''}`);
    const answer = await text(client);
    assert.match(answer, /^HTTP\/1.1 413 .*"error":"BODY_TOO_LARGE: /s);
  });

it('takes a body that came with its head as it lies, without the way through the parsers of fastify', async () => {
  let parsers = 0;
  const hook = createHook({
    init: (_id, type) => {
      if (type === 'content-type-parser:run') parsers++;
    },
  }).enable();
  try {
    const whole = await front.ask('/SPI_transfer_txrx', { token: tokens.flash!, body: TRANSFER });
    assert.deepEqual([whole.status, parsers], [200, 0]);
  } finally {
    hook.disable();
  }
});

for (const app of ['agenda', 'café', '\u0080ÿ', 'naïve ☕', '🙂'])
  it(`answers in UTF-8: ${JSON.stringify(app)}`, async () => {
    const options = { token: tokens.plain!, body: { app, functions: [] } };
    const { text, headers } = await front.ask('/FunctionRegistry-registerFunction', options);
    const expected = JSON.stringify({ ok: true, app, functions: [] });
    assert.deepEqual([text, headers['content-length']], [expected, String(Buffer.byteLength(expected))]);
  });

describe('the shapes of the specification', () => {
  const SHAPES: readonly (readonly [string, string, AskOptions & { readonly as?: string }, number, string])[] = [
    ['SPI transfer', '/SPI_transfer_txrx', { as: 'flash', body: TRANSFER }, 200, '{"ok":true,"rx":"AAAA"}'],
    [
      'SPI transfer under /v1',
      '/v1/SPI_transfer_txrx',
      { as: 'flash', body: TRANSFER },
      200,
      '{"ok":true,"rx":"AAAA"}',
    ],
    [
      'charset parameter',
      '/SPI_transfer_txrx',
      { as: 'flash', body: TRANSFER, headers: { 'content-type': 'application/json; charset=UTF-8' } },
      200,
      '{"ok":true,"rx":"AAAA"}',
    ],
    [
      'failed transfer',
      '/SPI_transfer_txrx',
      { as: 'flash', body: { ...TRANSFER, rxLen: 13 } },
      500,
      '{"ok":false,"error":"TIMEOUT: transfer timed out after 5 ms"}',
    ],
    [
      'fault of a driver',
      '/SPI_transfer_txrx',
      { as: 'flash', body: { ...TRANSFER, rxLen: 14 } },
      500,
      '{"ok":false,"error":"INTERNAL: internal error in spi.transfer"}',
    ],
    ['socket path', '/getDeviceSocketPath', { as: 'flash' }, 200, '{"socket":"/run/device/apps/flash/rpc.sock"}'],
    [
      'registration',
      '/FunctionRegistry-registerFunction',
      { as: 'flash', body: { app: 'a', functions: [] } },
      201,
      '{"ok":true,"app":"a","functions":[]}',
    ],
    ['status 503 by a member', '/status?say=failed', {}, 503, '{"ok":false,"status":"failed"}'],
    ['status 200 by a member', '/status?say=degraded', {}, 200, '{"ok":true,"status":"degraded"}'],
    [
      'path and body together',
      '/config/a.b%20c',
      { as: 'flash', method: 'PUT', body: { value: null } },
      200,
      '{"ok":true,"value":null,"key":"a.b c"}',
    ],
    [
      'query by type',
      '/find?limit=5&deep=true&tags=a&tags=b&numbers=1.5&text=007',
      {},
      200,
      '{"ok":true,"params":{"limit":5,"deep":true,"tags":["a","b"],"numbers":[1.5],"text":"007"}}',
    ],
    ['one value for an array', '/find?tags=a', {}, 200, '{"ok":true,"params":{"tags":["a"]}}'],
    ['HEAD of a GET route', '/find', { method: 'HEAD' }, 200, ''],
  ];
  for (const unix of [false, true])
    for (const [what, path, { as, ...options }, status, text] of SHAPES) {
      it(`${what} over ${unix ? 'the Unix socket' : 'TCP'}`, async () => {
        const answer = await front.ask(path, { ...options, unix, ...(as ? { token: tokens[as]! } : {}) });
        assert.deepEqual([answer.status, answer.text], [status, text]);
        assert.equal(answer.headers['device-api-version'], '1');
      });
    }
});

describe('a refusal names the handle that was asked for', () => {
  const LINE = 'capabilities: [{ id: bridges.spi:flash, reason: ... }]';
  const cases: readonly (readonly [string, AskOptions, string])[] = [
    ['a good request', { body: TRANSFER }, 'bridges.spi:flash'],
    ['params that do not fit', { body: { handle: 'flash', rxLen: -1 } }, 'bridges.spi:flash'],
    ['no handle', { body: {} }, 'bridges.spi:<handle>'],
    ['a handle that is none', { body: { handle: 'a b' } }, 'bridges.spi:<handle>'],
    ['a body that is no JSON', { body: '{' }, 'bridges.spi:<handle>'],
    ['a body of another type', { body: 'x', headers: { 'content-type': 'text/plain' } }, 'bridges.spi:<handle>'],
    ['a body that is too large', { body: 'x'.repeat(300_000) }, 'bridges.spi:<handle>'],
  ];
  for (const [what, options, capability] of cases)
    it(what, async () => {
      const { status, body } = await front.ask('/SPI_transfer_txrx', { ...options, token: tokens.plain! });
      assert.equal(status, 403);
      assert.ok(body.error.startsWith(`CAPABILITY_DENIED: app.${PLAIN} does not hold ${capability};`), body.error);
      if (capability.endsWith('flash')) assert.ok(body.error.includes(LINE), body.error);
    });

  it('and is remembered once, by that name', async () => {
    const flash = async () => {
      const all = await front.refusals();
      return all.reduce((sum, { capability, count }) => sum + (capability === 'bridges.spi:flash' ? count : 0), 0);
    };
    const before = await flash();
    await front.ask('/SPI_transfer_txrx', { token: tokens.plain!, body: TRANSFER });
    await eventually(async () => (await flash()) > before, 'the refusal');
    // From another thread those of the tests before may come late.
    if (!process.env[ISOLATION_VARIABLE]) assert.equal(await flash(), before + 1);
  });
});

describe('refusals', () => {
  const json = (text: string): AskOptions => ({ token: 'flash', body: text });
  const REFUSALS: readonly (readonly [string, string, AskOptions, number, string])[] = [
    ['no token', '/getDeviceSocketPath', {}, 401, 'UNAUTHENTICATED'],
    ['a wrong token', '/getDeviceSocketPath', { token: 'x'.repeat(43) }, 401, 'UNAUTHENTICATED'],
    ['a wrong token where none is needed', '/find', { token: 'x'.repeat(43) }, 401, 'UNAUTHENTICATED'],
    ['the token of an app that has stopped', '/getDeviceSocketPath', { token: 'stopped' }, 401, 'UNAUTHENTICATED'],
    ['another scheme', '/find', { headers: { authorization: 'Basic eDp5' } }, 401, 'UNAUTHENTICATED'],
    ['an empty token', '/find', { headers: { authorization: 'Bearer ' } }, 401, 'UNAUTHENTICATED'],
    ['a token in two parts', '/find', { headers: { authorization: 'Bearer a b' } }, 401, 'UNAUTHENTICATED'],
    ['a huge token', '/find', { token: 'x'.repeat(5_000) }, 401, 'UNAUTHENTICATED'],
    ['a wrong token on an unknown path', '/nothing', { token: 'x' }, 401, 'UNAUTHENTICATED'],
    ["another app's token", '/SPI_transfer_txrx', { token: 'plain', body: TRANSFER }, 403, 'CAPABILITY_DENIED'],
    ['no capability, broken body', '/SPI_transfer_txrx', { token: 'plain', body: '{' }, 403, 'CAPABILITY_DENIED'],
    [
      'another scope',
      '/SPI_transfer_txrx',
      { token: 'flash', body: { ...TRANSFER, handle: 'other' } },
      403,
      'CAPABILITY_DENIED',
    ],
    ['a foreign host', '/find', { headers: { host: 'evil.example:55280' } }, 403, 'ORIGIN_DENIED'],
    ['the right host with another port', '/find', { headers: { host: 'localhost:1' } }, 403, 'ORIGIN_DENIED'],
    ['a host without port', '/find', { headers: { host: 'localhost' } }, 403, 'ORIGIN_DENIED'],
    ['a foreign origin', '/find', { headers: { origin: 'http://evil.example' } }, 403, 'ORIGIN_DENIED'],
    ['an opaque origin', '/find', { headers: { origin: 'null' } }, 403, 'ORIGIN_DENIED'],
    [
      'a foreign origin before a wrong token',
      '/find',
      { token: 'x', headers: { origin: 'http://e' } },
      403,
      'ORIGIN_DENIED',
    ],
    ['a foreign origin on an unknown path', '/nothing', { headers: { origin: 'http://e' } }, 403, 'ORIGIN_DENIED'],
    [
      'no content type',
      '/SPI_transfer_txrx',
      { ...json('{}'), headers: { 'content-type': '' } },
      400,
      'CONTENT_TYPE_INVALID',
    ],
    [
      'text',
      '/SPI_transfer_txrx',
      { ...json('{}'), headers: { 'content-type': 'text/plain' } },
      400,
      'CONTENT_TYPE_INVALID',
    ],
    [
      'a lookalike',
      '/SPI_transfer_txrx',
      { ...json('{}'), headers: { 'content-type': 'application/jsonp' } },
      400,
      'CONTENT_TYPE_INVALID',
    ],
    [
      'another charset',
      '/SPI_transfer_txrx',
      { ...json('{}'), headers: { 'content-type': 'application/json; charset=utf-16' } },
      400,
      'CONTENT_TYPE_INVALID',
    ],
    [
      'a form',
      '/SPI_transfer_txrx',
      { ...json('a=b'), headers: { 'content-type': 'application/x-www-form-urlencoded' } },
      400,
      'CONTENT_TYPE_INVALID',
    ],
    ['broken JSON', '/SPI_transfer_txrx', json('{"handle":'), 400, 'JSON_INVALID'],
    ['JSON with a tail', '/SPI_transfer_txrx', json('{} x'), 400, 'JSON_INVALID'],
    ['no UTF-8', '/SPI_transfer_txrx', { token: 'flash', body: Buffer.from([0x22, 0xff, 0x22]) }, 400, 'JSON_INVALID'],
    ['__proto__', '/SPI_transfer_txrx', json('{"handle":"flash","__proto__":{"a":1}}'), 400, 'JSON_INVALID'],
    ['__proto__ in disguise', '/SPI_transfer_txrx', json('{"a":[{"__pr\\u006fto\\u005f_":{}}]}'), 400, 'JSON_INVALID'],
    ['an array', '/SPI_transfer_txrx', json('[]'), 400, 'PARAMS_INVALID'],
    ['null', '/SPI_transfer_txrx', json('null'), 400, 'PARAMS_INVALID'],
    ['a number', '/SPI_transfer_txrx', json('7'), 400, 'PARAMS_INVALID'],
    ['no body', '/SPI_transfer_txrx', json(''), 400, 'PARAMS_INVALID'],
    [
      'a missing member',
      '/SPI_transfer_txrx',
      { token: 'flash', body: { handle: 'flash', tx: '' } },
      400,
      'PARAMS_INVALID',
    ],
    [
      'an extra member',
      '/SPI_transfer_txrx',
      { token: 'flash', body: { ...TRANSFER, more: 1 } },
      400,
      'PARAMS_INVALID',
    ],
    [
      'a wrong type',
      '/SPI_transfer_txrx',
      { token: 'flash', body: { ...TRANSFER, rxLen: '3' } },
      400,
      'PARAMS_INVALID',
    ],
    [
      'a handle of a wrong type',
      '/SPI_transfer_txrx',
      { token: 'flash', body: { ...TRANSFER, handle: 5 } },
      400,
      'PARAMS_INVALID',
    ],
    [
      'members in the query of a POST',
      '/SPI_transfer_txrx?handle=flash',
      { token: 'flash', body: TRANSFER },
      400,
      'PARAMS_INVALID',
    ],
    ['a query of a wrong type', '/find?limit=five', {}, 400, 'PARAMS_INVALID'],
    ['a hexadecimal number', '/find?limit=0x5', {}, 400, 'PARAMS_INVALID'],
    ['an unknown query', '/find?other=1', {}, 400, 'PARAMS_INVALID'],
    ['a query twice', '/find?limit=1&limit=2', {}, 400, 'PARAMS_INVALID'],
    [
      'a key in path and body',
      '/config/a',
      { token: 'flash', method: 'PUT', body: { key: 'b', value: 1 } },
      400,
      'PARAMS_INVALID',
    ],
    [
      'a body over 256 KiB',
      '/SPI_transfer_txrx',
      { token: 'flash', body: { ...TRANSFER, tx: 'A'.repeat(300_000) } },
      413,
      'BODY_TOO_LARGE',
    ],
    [
      "a body over the route's limit",
      '/config/a',
      { token: 'flash', method: 'PUT', body: { value: 'A'.repeat(1_000) } },
      413,
      'BODY_TOO_LARGE',
    ],
    [
      'a chunked body over the limit',
      '/config/a',
      { token: 'flash', method: 'PUT', body: 'A'.repeat(2_000), headers: { 'transfer-encoding': 'chunked' } },
      413,
      'BODY_TOO_LARGE',
    ],
    [
      'a body that is packed',
      '/config/a',
      { token: 'flash', method: 'PUT', body: { value: 1 }, headers: { 'content-encoding': 'gzip' } },
      400,
      'CONTENT_TYPE_INVALID',
    ],
    ['an unknown path', '/nothing', {}, 404, 'METHOD_NOT_FOUND'],
    ['a path with another case', '/spi_TRANSFER_txrx', { token: 'flash', body: TRANSFER }, 404, 'METHOD_NOT_FOUND'],
    ['another version', '/v2/find', {}, 404, 'METHOD_NOT_FOUND'],
    ['a wrong method', '/SPI_transfer_txrx', { token: 'flash' }, 405, 'METHOD_NOT_ALLOWED'],
    ['a wrong method under /v1', '/v1/find', { method: 'DELETE' }, 405, 'METHOD_NOT_ALLOWED'],
    ['an odd method', '/find', { method: 'PROPFIND' }, 405, 'METHOD_NOT_ALLOWED'],
    ['a preflight', '/find', { method: 'OPTIONS' }, 405, 'METHOD_NOT_ALLOWED'],
    [
      'a value that is nested too deep',
      '/config/a',
      { token: 'flash', method: 'PUT', body: `{"value":${'['.repeat(400)}${']'.repeat(400)}}` },
      400,
      'JSON_INVALID',
    ],
    [
      'more values than a body may have',
      '/SPI_transfer_txrx',
      { token: 'flash', body: `{"tx":[${'[],'.repeat(35_000)}[]]}` },
      400,
      'JSON_INVALID',
    ],
    ['__proto__ in the query', '/find?__proto__=1', {}, 400, 'PARAMS_INVALID'],
    ['a broken path and a foreign host', '/config/%zz', { headers: { host: 'evil.example' } }, 403, 'ORIGIN_DENIED'],
    [
      'a path beyond any parameter',
      `/config/${'k'.repeat(9_000)}`,
      { token: 'flash', method: 'PUT', body: {} },
      400,
      'REQUEST_INVALID',
    ],
    ['a broken path', '/config/%zz', { token: 'flash' }, 400, 'REQUEST_INVALID'],
    ['a full queue', '/wait?ms=0', { token: 'flash' }, 503, 'QUEUE_FULL'],
    ['headers over 16 KiB', '/find', { headers: { 'x-fill': 'y'.repeat(17_000) } }, 431, 'HEADERS_TOO_LARGE'],
  ];
  for (const [what, path, options, status, code] of REFUSALS) {
    it(`${what}: ${status} ${code}`, async () => {
      const { token } = options;
      const answer = await front.ask(path, { ...options, ...(token ? { token: tokens[token] ?? token } : {}) });
      assert.equal(answer.status, status, answer.text);
      assert.match(answer.body.error, new RegExp(`^${code}: `));
      const bare = path.startsWith('/SPI_transfer_txrx');
      const members = ['code', 'details', 'error', 'ok'].filter((member) => member in answer.body);
      if (bare) assert.deepEqual(members, ['error', 'ok']);
      else assert.equal(answer.body.code, code);
      assert.equal(answer.body.ok, false);
      assert.ok(answer.text.length < 2_000, 'an answer repeats no more than it has to');
      assert.equal(answer.headers['device-api-version'], '1');
      assert.equal(answer.headers['www-authenticate'] !== undefined, status === 401);
      assert.equal(answer.headers.allow !== undefined, status === 405);
      assert.equal(answer.headers['access-control-allow-origin'], undefined);
      if (code === 'QUEUE_FULL') assert.equal(answer.headers['retry-after'], '2');
    });
  }

  it('say when to come again wherever there is too much of something just now, from any part', async () => {
    const table = Object.entries(ERROR_CODES) as [CoreErrorCode, readonly [number, number, string]][];
    const crowded = table.filter(([code, [status]]) => status === 429 || code === 'QUEUE_FULL').map(([code]) => code);
    assert.ok(crowded.includes('BUSY') && crowded.includes('RATE_LIMITED') && crowded.includes('STREAM_LIMIT'));
    const row = {
      ...FIND,
      name: 'test.crowded',
      errors: crowded,
      rest: { method: 'GET', path: '/crowded/:code' },
    } as const;
    const params = { type: 'object', required: ['code'], properties: { code: { type: 'string' } } };
    using _row = front.table.add({
      ...row,
      params,
      async run({ code }: { readonly code: CoreErrorCode }) {
        throw new CoreError(code, { what: 'it', limit: 1 });
      },
    } as Operation<never, unknown>);
    await front.settle();
    for (const code of crowded) {
      const { headers, body } = await front.ask(`/crowded/${code}`, { token: tokens.flash! });
      assert.equal(body.code, code);
      assert.equal(headers['retry-after'], '1', code);
    }
  });

  it('leave no trace: others are served, nothing is logged as a fault of ours', async () => {
    assert.equal((await front.ask('/find')).status, 200);
    assert.deepEqual(
      front.host.logged.filter((line) => line.level === 'error'),
      [],
    );
  });

  it('takes a browser page of the device itself', async () => {
    for (const name of ['localhost', '127.0.0.1', '[::1]']) {
      const host = `${name}:${front.port}`;
      const answer = await front.ask('/find', { headers: { host, origin: `http://${host}` } });
      assert.equal(answer.status, 200);
    }
  });

  it('knows its peer on the Unix socket without a token, and refuses a wrong one there, too', async () => {
    assert.equal((await front.ask('/getDeviceSocketPath', { unix: true })).status, 200);
    const wrong = await front.ask('/getDeviceSocketPath', { unix: true, token: 'x' });
    assert.equal(wrong.status, 401);
  });
});

describe('the listeners', () => {
  it('let apps of every uid connect', async () => {
    assert.equal((await stat(front.socket)).mode & 0o777, 0o666);
  });

  it('refuse a port that is taken, and leave nothing behind', async () => {
    const blocker = createServer().listen(0, '127.0.0.1');
    await once(blocker, 'listening');
    const { port } = blocker.address() as { port: number };
    await assert.rejects(
      startFront([], { port, tcpRequired: true }),
      (thrown) => thrown instanceof CoreError && thrown.code === 'UNAVAILABLE',
    );
    blocker.close();
  });

  it('replace a socket file without a listener, and no other', async () => {
    const path = `${front.socket}.second`;
    const first = await startFront([], { socket: path });
    await assert.rejects(startFront([], { socket: path }), /another process does/);
    await first[Symbol.asyncDispose]();
    const left = createServer().listen(`${path}.other`);
    await once(left, 'listening');
    await link(`${path}.other`, path);
    left.close();
    const second = await startFront([], { socket: path });
    assert.equal((await second.ask('/nothing', { unix: true })).status, 404);
    await second[Symbol.asyncDispose]();
    await writeFile(path, 'precious');
    await assert.rejects(startFront([], { socket: path }), /not a socket/);
  });
});
