import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, createServer as createHttpServer, get, type IncomingMessage } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { after, afterEach, beforeEach, describe, it } from 'node:test';
import { httpServer } from '@device-core/plugin-api/inside/services/http-server';
import type { Identity } from '@device-core/plugin-api/inside/services/identity';
import type { Operation, ServerSentEvent } from '@device-core/plugin-api/services/operations';
import { ISOLATION_VARIABLE, leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { Connections } from '../../../plugins/interface/http/connections.ts';
import { checksOf, looksWhileConnected } from '../../../plugins/interface/http/node-private.ts';
import { eventually, pace } from '../../fixtures/eventually.ts';
import { FLASH, type Front, startFront } from './front.ts';
import { aborted, EVENTS, FIND, produced, ROWS } from './rows.ts';

after(leakCheck());

const ignore = () => undefined;
const quiet = { debug: ignore, info: ignore, warn: ignore, error: ignore };

/** A worker that a busy machine gives no turn for a moment takes whoever it serves for silent: it gets longer limits. */
const PATIENCE = (process.env[ISOLATION_VARIABLE] ?? 'inline') === 'inline' ? 1 : 5;

let front: Front;
let token: string;
beforeEach(async () => {
  aborted.length = 0;
  Object.assign(produced, { last: 0, ended: 0 });
  const fast = {
    headersTimeoutMs: 300 * PATIENCE,
    requestTimeoutMs: 600 * PATIENCE,
    keepAliveTimeoutMs: 5_000,
    requestProgressBytes: 4,
  };
  front = await startFront(ROWS, {
    ...fast,
    heartbeatMs: 50,
    stallTimeoutMs: 300 * PATIENCE,
    stopGraceMs: 200 * PATIENCE,
    maxConnections: 20,
  });
  token = await front.identity.issue(FLASH);
});
afterEach(() => front[Symbol.asyncDispose]());

const until = (condition: () => boolean) => eventually(condition, String(condition), { every: 5 });

function stream(path: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` };
    get({ host: '127.0.0.1', port: front.port, path, headers, agent: false }, resolve).on('error', reject);
  });
}

describe('a TCP port that another process has', () => {
  it('fails the start, or is a warning where TCP is not required', async () => {
    await assert.rejects(startFront(ROWS, { port: front.port, tcpRequired: true }), { code: 'UNAVAILABLE' });
    await using other = await startFront(ROWS, { port: front.port });
    assert.deepEqual(await other.host.service(httpServer).addresses(), [`unix:${other.socket}`]);
    const warnings: string[] = [];
    const report = { add: () => undefined, bridge: () => undefined, warn: (code: string) => void warnings.push(code) };
    await other.host.hook('health.collect').promise(report);
    assert.deepEqual(warnings, ['TCP_UNAVAILABLE']);
  });
});

describe('bytes that are no request', () => {
  const host = () => `host: localhost:${front.port}\r\n`;
  const CASES: readonly (readonly [string, () => string, RegExp])[] = [
    ['no HTTP', () => 'hello\r\n\r\n', /^HTTP\/1\.1 400 .*REQUEST_INVALID/s],
    ['an unknown version', () => `GET /find HTTP/9.9\r\n${host()}\r\n`, /^HTTP\/1\.1 400 .*REQUEST_INVALID/s],
    [
      'a null byte in a header',
      () => `GET /find HTTP/1.1\r\n${host()}a: \0\r\n\r\n`,
      /^HTTP\/1\.1 400 .*REQUEST_INVALID/s,
    ],
    [
      'two lengths',
      () => `POST /find HTTP/1.1\r\n${host()}content-length: 1\r\ncontent-length: 2\r\n\r\n{}`,
      /^HTTP\/1\.1 400 .*REQUEST_INVALID/s,
    ],
    [
      'length and chunks',
      () => `POST /find HTTP/1.1\r\n${host()}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
      /^HTTP\/1\.1 400 .*REQUEST_INVALID/s,
    ],
    [
      'a broken chunk',
      () =>
        `PUT /config/a HTTP/1.1\r\n${host()}authorization: Bearer ${token}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n`,
      /^HTTP\/1\.1 400 .*REQUEST_INVALID/s,
    ],
    [
      'a proxy request',
      () => `CONNECT evil.example:443 HTTP/1.1\r\n${host()}\r\n`,
      /^HTTP\/1\.1 405 .*METHOD_NOT_ALLOWED/s,
    ],
    [
      'no host: two of them',
      () => `GET /find HTTP/1.1\r\n${host()}host: evil.example\r\nconnection: close\r\n\r\n`,
      /^HTTP\/1\.1 403 .*ORIGIN_DENIED/s,
    ],
    [
      'no host: a foreign one in the request line',
      () => `GET http://evil.example/find HTTP/1.1\r\n${host()}connection: close\r\n\r\n`,
      /^HTTP\/1\.1 403 .*ORIGIN_DENIED/s,
    ],
    ['no host', () => 'GET /find HTTP/1.1\r\nconnection: close\r\n\r\n', /^HTTP\/1\.1 403 .*ORIGIN_DENIED/s],
    ['no host in HTTP/1.0', () => 'GET /find HTTP/1.0\r\n\r\n', /^HTTP\/1\.1 403 .*ORIGIN_DENIED/s],
    ['headers that never end', () => `GET /find HTTP/1.1\r\n${host()}`, /^HTTP\/1\.1 408 .*REQUEST_TIMEOUT/s],
    [
      'a body that never ends',
      () =>
        `PUT /config/a HTTP/1.1\r\n${host()}authorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{`,
      /^HTTP\/1\.1 408 .*REQUEST_TIMEOUT/s,
    ],
    ['nothing at all', () => '', /^(HTTP\/1\.1 408 .*REQUEST_TIMEOUT.*)?$/s],
  ];
  for (const [what, bytes, expected] of CASES) {
    it(`${what}: an answer, and the end of the connection`, async () => {
      for (const unix of what.startsWith('no host') ? [false] : [false, true]) {
        const answer = await front.raw(bytes(), { unix });
        assert.match(answer, expected);
        if (answer !== '') assert.match(answer, /device-api-version: 1/i);
      }
      assert.equal((await front.ask('/find')).status, 200);
    });
  }

  it('a body that goes on is waited for, three times as long as a whole request may take', async () => {
    const body = `"${'x'.repeat(58)}"`;
    const client = connect(front.socket);
    let said = '';
    client.setEncoding('utf8').on('data', (chunk) => {
      said += chunk;
    });
    client.write(
      `PUT /config/a HTTP/1.1\r\n${host()}authorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: ${11 + body.length}\r\nconnection: close\r\n\r\n{"value": `,
    );
    for (const letter of body) {
      await pace(30 * PATIENCE);
      client.write(letter);
    }
    client.write('}');
    await once(client, 'close');
    assert.match(said, /^HTTP\/1\.1 200 /);
  });

  it('a half-closed connection counts as a client that has gone', async () => {
    const request = `GET /wait HTTP/1.1\r\n${host()}authorization: Bearer ${token}\r\n\r\n`;
    assert.equal(await front.raw(request, { half: true }), '');
    assert.equal((await front.ask('/find')).status, 200);
  });

  it('an unknown expectation is no reason to refuse', async () => {
    const answer = await front.raw(
      `GET /find HTTP/1.1\r\n${host()}expect: the-unexpected\r\nconnection: close\r\n\r\n`,
    );
    assert.match(answer, /^HTTP\/1\.1 200 .*device-api-version: 1/is);
  });

  it('requests in one piece are answered in order', async () => {
    const one = (n: number, more = '') => `GET /find?limit=${n} HTTP/1.1\r\n${host()}${more}\r\n`;
    const answer = await front.raw(one(1) + one(2) + one(3, 'connection: close\r\n'));
    assert.deepEqual(
      [...answer.matchAll(/"limit":(\d)/g)].map((match) => match[1]),
      ['1', '2', '3'],
    );
  });

  it('a house full of silent connections keeps no client out, and no known client has to leave for them', async () => {
    const known = connect(front.port, '127.0.0.1').setEncoding('utf8');
    const request = `GET /find HTTP/1.1\r\n${host()}authorization: Bearer ${token}\r\n\r\n`;
    const answered = (): Promise<unknown> => {
      known.write(request);
      return once(known, 'data');
    };
    await answered();
    const many: Socket[] = [];
    for (let count = 0; count < 40; count++) {
      const one = connect(front.port, '127.0.0.1').on('error', () => undefined);
      many.push(one);
      await once(one, 'connect');
    }
    assert.equal((await front.ask('/find')).status, 200);
    assert.match(String(await answered()), /^HTTP\/1\.1 200 /);
    for (const socket of [known, ...many]) socket.destroy();
  });

  it('where all are at work the next one is turned away', async () => {
    // Whoever takes nothing is at work for a moment only.
    const busy = () => stream('/events').then((one) => one.on('error', () => undefined).resume());
    const streams = await Promise.all(Array.from({ length: 20 }, busy));
    await assert.rejects(front.ask('/find'), { code: 'ECONNRESET' });
    for (const one of streams) one.destroy();
    await pace(50);
    assert.equal((await front.ask('/find')).status, 200);
  });

  it('more connections than allowed are closed, and there is room again afterwards', async () => {
    // Read, so that each kind of end is one.
    const one = () =>
      connect(front.port, '127.0.0.1')
        .on('error', () => undefined)
        .resume();
    const many = Array.from({ length: 40 }, one);
    await until(() => many.filter((socket) => socket.closed).length >= 20);
    for (const socket of many) socket.destroy();
    await pace(20);
    assert.equal((await front.ask('/find')).status, 200);
  });
});

describe('a server without clients', () => {
  it('has no timer: Node looks after requests only while there is a connection', async () => {
    const server = createHttpServer();
    const watch = looksWhileConnected(server);
    server.on('connection', watch);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const looks = () => (checksOf(server) as unknown as { readonly _destroyed: boolean })._destroyed === false;
    assert.equal(looks(), false);
    const { port } = server.address() as { port: number };
    const [one, other] = [connect(port, '127.0.0.1').resume(), connect(port, '127.0.0.1').resume()];
    await until(looks);
    one.destroy();
    await once(one, 'close');
    await pace(20);
    assert.equal(looks(), true);
    other.destroy();
    await until(() => !looks());
    server.close();
  });
});

describe('a client that leaves', () => {
  it('aborts its call', async () => {
    const request = get({
      host: '127.0.0.1',
      port: front.port,
      path: '/wait',
      headers: { authorization: `Bearer ${token}` },
    });
    request.on('error', () => undefined);
    await pace(50);
    request.destroy();
    await until(() => aborted.length > 0);
    assert.deepEqual(aborted, ['CANCELLED']);
  });

  it('is cut off when its identity ends, with requests in flight and streams', async () => {
    const events = await stream('/events');
    // Listened to from the start: with the plugin in a worker, the end comes before the answer to revoke().
    const waiting = assert.rejects(front.ask('/wait', { token }), /ECONNRESET|socket hang up/);
    const other = front.ask('/wait?ms=200', { token: front.operatorToken });
    events.on('error', () => undefined).resume();
    await pace(50);
    await front.identity.revoke(FLASH);
    await waiting;
    await until(() => events.closed);
    await until(() => aborted.length === 1 && produced.ended === 1);
    assert.equal((await other).status, 200);
  });

  it('may finish requests in flight when the plugin stops, for a moment', async () => {
    const short = front.ask('/wait?ms=100', { token });
    const long = front.ask('/wait', { token }).then(
      ({ status }) => status,
      ({ code }) => code,
    );
    await pace(30);
    await front.host.stop();
    assert.equal((await short).status, 200);
    // In a worker its call may fail a moment before its connection is cut.
    assert.ok(['ECONNRESET', 503].includes(await long), await long);
    await assert.rejects(front.ask('/find'), /ECONNREFUSED/);
    assert.deepEqual(front.host.leaks(), []);
  });
});

describe('the routes', () => {
  it('come and go while a client stays connected', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const sockets = new Set<unknown>();
    const status = (path: string): Promise<number> =>
      new Promise((resolve, reject) => {
        const headers = { authorization: `Bearer ${token}` };
        get({ host: '127.0.0.1', port: front.port, path, headers, agent }, (response) => {
          sockets.add(response.socket);
          response.resume().on('end', () => resolve(response.statusCode!));
        }).on('error', reject);
      });
    const row = { ...FIND, name: 'test.late', rest: { method: 'GET', path: '/late' } } as const;
    for (let round = 0; round < 5; round++) {
      // Once it was there, its plugin may be restarting.
      assert.equal(await status('/late'), round === 0 ? 404 : 503);
      const entry = front.table.add(row);
      await front.settle();
      assert.equal(await status('/late'), 200);
      assert.equal(await status('/v1/late'), 200);
      entry[Symbol.dispose]();
      await front.settle();
    }
    assert.equal(await status('/late'), 503);
    const { headers, body } = await front.ask('/late', { token });
    assert.equal(headers['retry-after'], '1');
    assert.equal((body as { code: string }).code, 'UNAVAILABLE');
    assert.equal(sockets.size, 1);
    agent.destroy();
  });

  it('change without a loss to requests in flight', async () => {
    const waiting = front.ask('/wait?ms=150', { token });
    await pace(30);
    front.table.add({ ...FIND, name: 'test.late', rest: { method: 'GET', path: '/late' } });
    await front.settle();
    assert.equal((await front.ask('/late')).status, 200);
    assert.equal((await waiting).status, 200);
  });

  it('answer UNAVAILABLE to requests whose operation leaves', async () => {
    const entry = front.table.add({
      ...FIND,
      name: 'test.late',
      run: () => new Promise(() => undefined),
      rest: { method: 'GET', path: '/late' },
    });
    await front.settle();
    const waiting = front.ask('/late');
    await pace(50);
    entry[Symbol.dispose]();
    const answer = await waiting;
    assert.deepEqual([answer.status, answer.body.code], [503, 'UNAVAILABLE']);
  });
});

describe('a client that asks for much', () => {
  const BYTES = 30_000_000;

  it('is cut when it takes nothing, and others are served', async () => {
    const rest = { method: 'GET', path: '/large' } as const;
    front.table.add({ ...FIND, name: 'test.large', rest, run: async () => ({ fill: 'x'.repeat(BYTES) }) });
    const client = connect(front.port, '127.0.0.1').on('error', () => undefined);
    client.write(`GET /large HTTP/1.1\r\nhost: localhost:${front.port}\r\nconnection: close\r\n\r\n`);
    await once(client, 'readable');
    await pace(1_000 * PATIENCE);
    assert.equal((await front.ask('/find')).status, 200);
    let received = 0;
    client.on('data', (chunk) => {
      received += chunk.length;
    });
    await once(client, 'close');
    assert.ok(received < BYTES, `${received} bytes came`);
  });

  it('is waited for while it takes something, however large the piece', async () => {
    const connections = new Connections({ peerOf: async () => undefined } as unknown as Identity, quiet, {
      maxConnections: 8,
      maxConnectionsPerOwner: 8,
    });
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      connections.overUnix(socket);
      socket.write(Buffer.alloc(BYTES));
    });
    const path = `${front.socket}.large`;
    await once(server.listen(path), 'listening');
    const client = connect(path);
    try {
      const clock = virtualClock();
      for (let round = 0; round < 10; round += 1) {
        for (let taken = 0; taken < 1_000_000; ) {
          const chunk = client.read() as Buffer | null;
          if (chunk) taken += chunk.length;
          else await once(client, 'readable');
        }
        connections.checkStalled(clock, 100);
        await clock.advance(100);
      }
      await pace(20);
      connections.checkStalled(clock, 100);
      await clock.advance(50);
      connections.checkStalled(clock, 100);
      // A board that is busy is no fault of the client.
      clock.starve(400);
      connections.checkStalled(clock, 100);
      assert.equal(connections.stalled, 0);
      await clock.advance(50);
      connections.checkStalled(clock, 100);
      assert.equal(connections.stalled, 1);
    } finally {
      client.destroy();
      connections.cutAll();
      server.close();
    }
  });
});

describe('an event stream', () => {
  it('carries events and heartbeats until the client leaves', async () => {
    const response = await stream('/events');
    assert.equal(response.headers['content-type'], 'text/event-stream; charset=utf-8');
    assert.equal(response.headers['device-api-version'], '1');
    let text = '';
    response.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
    });
    await until(() => text.includes(': still here') && text.includes('id: 4'));
    assert.ok(text.startsWith('event: count\nid: 1\ndata: {"n":1,"fill":"x"}\n\n'), text);
    response.destroy();
    await until(() => produced.ended === 1);
  });

  it('takes no more events than its reader, and is cut when the reader takes none', async () => {
    const response = await stream('/events?bytes=100000');
    response.pause();
    await until(() => produced.ended === 1);
    assert.ok(produced.last < 200, `${produced.last} events for a reader that takes none`);
    response.on('error', () => undefined).destroy();
  });

  const inline = process.env[ISOLATION_VARIABLE] ? 'another thread gets a copy of each event' : false;
  it('writes an event that goes to many as one text and in one write', { skip: inline }, async () => {
    let texts = 0;
    const open: ((item: ServerSentEvent) => void)[] = [];
    const rest = { method: 'GET', path: '/shared', sse: true } as const;
    async function* run() {
      for (;;) yield await new Promise<ServerSentEvent>((resolve) => open.push(resolve));
    }
    front.table.add({ ...EVENTS, name: 'test.shared', rest, run } as Operation<never, unknown>);
    await front.settle();
    const readers = await Promise.all(Array.from({ length: 5 }, () => stream('/shared')));
    const heard = readers.map((reader) => {
      const chunks: string[] = [];
      reader.setEncoding('utf8').on('data', (chunk) => void chunks.push(chunk));
      return chunks;
    });
    const data = {
      text: 'é',
      toJSON: () => {
        texts++;
        return { text: 'é' };
      },
    };
    for (const id of ['1', '2', '3']) {
      await until(() => open.length === 5);
      const item = Object.freeze({ id, data });
      for (const give of open.splice(0)) give(item);
    }
    const text = (id: string) => `id: ${id}\ndata: {"text":"é"}\n\n`;
    const whole = ['1', '2', '3'].map(text).join('');
    await until(() => heard.every((chunks) => chunks.join('').replaceAll(': still here\n\n', '') === whole));
    assert.equal(texts, 3);
    for (const reader of readers) reader.destroy();
  });

  it('over HTTP/1.0 is sent without chunks', async () => {
    const more = `host: localhost:${front.port}\r\nauthorization: Bearer ${token}\r\n`;
    const answer = await front.raw(`GET /events?fail=true HTTP/1.0\r\n${more}\r\n`);
    assert.match(answer, /\r\n\r\nevent: count\nid: 1\ndata: \{"n":1,"fill":"x"\}\n\nevent: count\nid: 2\n/);
    assert.doesNotMatch(answer, /transfer-encoding/i);
  });

  it('ends with an event that tells the error', async () => {
    const answer = await front.ask('/events?fail=true', { token });
    assert.match(answer.text, /event: error\ndata: \{"error":"QUEUE_FULL: .*","code":"QUEUE_FULL"\}\n\n$/);
  });

  it('refuses before it begins', async () => {
    const answer = await front.ask('/events?bytes=x', { token });
    assert.deepEqual([answer.status, answer.body.code], [400, 'PARAMS_INVALID']);
    const anonymous = await front.ask('/events');
    assert.deepEqual([anonymous.status, anonymous.body.code], [401, 'UNAUTHENTICATED']);
    assert.equal((await front.ask('/events', { token, method: 'HEAD' })).status, 200);
  });
});
