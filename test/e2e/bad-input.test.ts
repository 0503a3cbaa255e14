/** Hostile input against the simulator SKU with its demo apps: every endpoint and socket answers as documented, and nobody else notices. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { pace, eventually as until } from '../fixtures/eventually.ts';
import { requiredWithoutProperty } from '../fixtures/required-names.ts';
import { type Answer, type Ask, SpawnedCore } from '../fixtures/spawned-core.ts';
import { RawClient } from '../plugins/rpc/fixture.ts';
import { Bystanders } from './bystanders.ts';
import { AGENDA, ENDPOINTS, EVENT, FLASH, SPI } from './endpoints.ts';

const HUGE = JSON.stringify({ fill: 'x'.repeat(256 * 1024) });
/** A body that is not sent to its end: the answer comes when the headers have told its length. */
const told = (bytes: number) => ({ body: '{', headers: { 'content-length': String(bytes) } });

let core: SpawnedCore;
let tokens: { readonly agenda: string; readonly flash: string };
/** Operation -> status -> codes, as /openapi.json tells. */
let documented: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
let bystanders: Bystanders;
let atFirst: Readonly<Record<string, number>>;

before(async () => {
  core = await SpawnedCore.start('--app', 'docs/examples/agenda', '--app', 'docs/examples/flash-reader');
  await until(async () => {
    const { body } = await core.ask('/functions', { unix: true });
    return (
      ['agenda.next', 'flash.id'].every((name) =>
        body.functions.some((one: { name: string; available: boolean }) => one.name === name && one.available),
      ) || undefined
    );
  }, 'the demo apps');
  tokens = { agenda: core.token('agenda'), flash: core.token('flash-reader') };
  const { paths } = (await core.ask('/openapi.json', { unix: true })).body;
  const rows = (Object.values(paths) as Record<string, OpenApiOperation>[]).flatMap((one) => Object.values(one));
  documented = Object.fromEntries(rows.map(({ operationId, responses }) => [operationId, codesByStatus(responses)]));
  bystanders = await Bystanders.start(core);
  await bystanders.check();
  atFirst = core.descriptors();
});
after(async () => {
  bystanders?.stop();
  await core?.[Symbol.asyncDispose]();
});

test('every name that a schema demands is described in it, in the documents of all three', async () => {
  for (const path of ['/openapi.json', '/openrpc.json', '/asyncapi.json'])
    assert.deepEqual(requiredWithoutProperty((await core.ask(path, { unix: true })).body), [], path);
});

test('the table names every endpoint that the Core has', () => {
  assert.deepEqual(Object.keys(ENDPOINTS).toSorted(), Object.keys(documented).toSorted());
});

describe('every endpoint refuses as documented', () => {
  for (const [operation, endpoint] of Object.entries(ENDPOINTS)) {
    test(`${endpoint.method} ${endpoint.path}`, async () => {
      const {
        method,
        path,
        body,
        anonymous,
        denied,
        wrongMethod = 'DELETE',
        wrong: code = 'PARAMS_INVALID',
      } = endpoint;
      const [moreStatus, moreCode] = endpoint.more ?? [400, 'PARAMS_INVALID'];
      const refused = (what: string, change: Ask, status: number, code: string, where = path) =>
        expectRefusal(
          operation,
          what,
          core.ask(where, { method, body, token: tokens.agenda, ...change }),
          status,
          code,
        );
      const foreign = { host: 'evil.example' };
      await refused('foreign host', { headers: foreign }, 403, 'ORIGIN_DENIED');
      await refused('foreign origin', { headers: { origin: 'http://evil.example' } }, 403, 'ORIGIN_DENIED');
      await refused('foreign host before a wrong token', { token: 'x', headers: foreign }, 403, 'ORIGIN_DENIED');
      for (const unix of [false, true])
        await refused('wrong token', { token: 'x'.repeat(43), unix }, 401, 'UNAUTHENTICATED');
      await refused('no bearer', { headers: { authorization: 'Basic eDp5' } }, 401, 'UNAUTHENTICATED');
      const nobody = core.ask(path, { method, body });
      if (anonymous) assert.equal((await nobody).status, endpoint.nobody ?? 200);
      else await expectRefusal(operation, 'no token', nobody, 401, 'UNAUTHENTICATED');
      await refused('a wrong method', { method: wrongMethod }, 405, 'METHOD_NOT_ALLOWED');
      if (denied) {
        await refused("another app's token", {}, 403, 'CAPABILITY_DENIED');
        if (body) await refused("another app's token before broken JSON", { body: '{' }, 403, 'CAPABILITY_DENIED');
      }
      // From here on with a caller who may.
      const token = denied ? mayDo(operation) : tokens.agenda;
      if (!body) {
        const more = `${path}${path.includes('?') ? '&' : '?'}more=1`;
        await refused('a member too many', { token }, 400, 'PARAMS_INVALID', more);
      } else if (endpoint.raw) {
        // No JSON is read: a body is bytes, or it is refused by its type.
        for (const type of ['application/json', 'text/plain'])
          await refused(type, { token, headers: { 'content-type': type } }, 400, 'CONTENT_TYPE_INVALID');
      } else {
        for (const type of [
          'text/plain',
          'application/x-www-form-urlencoded',
          'application/jsonp',
          'application/json; charset=utf-16',
        ])
          await refused(type, { token, headers: { 'content-type': type } }, 400, 'CONTENT_TYPE_INVALID');
        for (const broken of [
          '{',
          '{"a":1}}',
          "{'a':1}",
          '\ufeff{}',
          Buffer.from([0x7b, 0xff, 0x7d]),
          '{"__proto__":{}}',
        ])
          await refused(`broken JSON ${broken}`, { token, body: broken }, 400, 'JSON_INVALID');
        for (const kind of ['[]', '"x"', 'null', '7'])
          await refused(kind, { token, body: kind }, 400, 'PARAMS_INVALID');
        const large = endpoint.bodyLimit ? told(endpoint.bodyLimit + 1) : { body: HUGE };
        await refused('too large', { token, ...large }, 413, 'BODY_TOO_LARGE');
        await refused('a member too many', { token, body: { ...body, more: 1 } }, moreStatus, moreCode);
        await refused('a query', { token }, 400, 'PARAMS_INVALID', `${path}?more=1`);
        for (const [member, value] of Object.entries(body)) {
          const { [member]: _, ...rest } = body as Record<string, unknown>;
          // `inputs` and the name to unregister may be left out.
          if (!['inputs', 'name'].includes(member) || (operation === 'functions.call' && member === 'name'))
            await refused(`without ${member}`, { token, body: rest }, 400, code);
          if (operation === 'config.set') continue; // any JSON is a value
          const wrong = typeof value === 'object' ? 'text' : { not: 'text' };
          await refused(`${member} of a wrong type`, { token, body: { ...body, [member]: wrong } }, 400, code);
          await refused(`${member} null`, { token, body: { ...body, [member]: null } }, 400, code);
        }
      }
      for (const [what, input, status, code] of endpoint.cases ?? []) {
        const change = typeof input === 'string' ? {} : { body: input };
        await refused(what, { token, ...change }, status, code, typeof input === 'string' ? input : path);
      }
    });
  }

  test('things that the operator may ask for and that are missing', async () => {
    const cases: readonly (readonly [string, string, object | undefined, number, string])[] = [
      ['spi.transfer', '/SPI_transfer_txrx', { ...SPI, handle: 'absent' }, 500, 'HANDLE_NOT_FOUND'],
      ['apps.start', '/apps/no.such/start', {}, 404, 'APP_NOT_FOUND'],
      ['plugins.restart', '/plugins/absent/restart', {}, 404, 'PLUGIN_NOT_FOUND'],
      ['prompts.answer', '/prompts/deadbeef', { allow: [] }, 404, 'CONSENT_NOT_FOUND'],
      ['apps.socket', '/getDeviceSocketPath', undefined, 403, 'CALLER_DENIED'],
      ['config.set', '/config/a?app=no.such', { value: 1 }, 400, 'PARAMS_INVALID'],
    ];
    for (const [operation, path, body, status, code] of cases) {
      const method = ENDPOINTS[operation]!.method;
      await expectRefusal(operation, path, core.ask(path, { method, body, unix: true }), status, code);
    }
  });
});

describe('sockets', () => {
  const line = (message: object) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`;
  const ping = line({ id: 1, method: 'system.ping' });
  const CODES: readonly (readonly [what: string, bytes: string | Buffer, code: number, name: string])[] = [
    ['broken JSON', '{"jsonrpc":\n', -32700, 'JSON_INVALID'],
    ['bytes that are no text', Buffer.from([0x7b, 0xff, 0xfe, 0x7d, 0x0a]), -32700, 'JSON_INVALID'],
    ['HTTP', 'GET / HTTP/1.1\n', -32700, 'JSON_INVALID'],
    ['no JSON-RPC', '{"id":1}\n', -32600, 'REQUEST_INVALID'],
    ['a batch of 33', `[${Array(33).fill(ping.trim()).join()}]\n`, -32600, 'REQUEST_INVALID'],
    ['an unknown method', line({ id: 1, method: 'no.such' }), -32601, 'METHOD_NOT_FOUND'],
    ['a member of Object', line({ id: 1, method: 'constructor' }), -32601, 'METHOD_NOT_FOUND'],
    ['a member too many', line({ id: 1, method: 'system.ping', params: { more: 1 } }), -32602, 'PARAMS_INVALID'],
    ['a member too few', line({ id: 1, method: 'config.get', params: {} }), -32602, 'PARAMS_INVALID'],
    ['a wrong type', line({ id: 1, method: 'config.get', params: { key: 1 } }), -32602, 'PARAMS_INVALID'],
    ['a bad key', line({ id: 1, method: 'config.get', params: { key: 'a..b' } }), -32602, 'CONFIG_KEY_INVALID'],
    [
      'a bad topic',
      line({ id: 1, method: 'events.publish', params: { ...EVENT, topic: '.' } }),
      -32602,
      'TOPIC_INVALID',
    ],
    [
      'a bad filter',
      line({ id: 1, method: 'events.subscribe', params: { filters: ['**.a'] } }),
      -32602,
      'FILTER_INVALID',
    ],
    ['a foreign handle', line({ id: 1, method: 'spi.transfer', params: SPI }), -32003, 'CAPABILITY_DENIED'],
    [
      "the operator's business",
      line({ id: 1, method: 'apps.stop', params: { id: FLASH } }),
      -32003,
      'CAPABILITY_DENIED',
    ],
    [
      'no stream',
      line({ id: 1, method: 'stream.write', params: { id: 'x', data: 'AA==' } }),
      -32004,
      'STREAM_NOT_FOUND',
    ],
    ['an attachment for nobody', `${line({ id: 1, method: 'system.ping', bytes: 3 })}abc`, -32600, 'REQUEST_INVALID'],
    ['no time', line({ id: 1, method: 'system.ping', meta: { deadlineMs: 0 } }), -32002, 'TIMEOUT'],
  ];

  test('an app socket answers each fault with its code and goes on', async () => {
    const client = await appClient();
    for (const [what, bytes, code, name] of CODES) {
      client.write(bytes);
      const { error } = await client.next();
      assert.deepEqual([error.code, error.data.code], [code, name], what);
    }
    client.write(ping);
    assert.equal((await client.next()).result.pong, true);
    client.socket.destroy();
  });

  test('an app socket ends a message that is too long, and answers a client that closes its side', async () => {
    for (const [what, bytes] of [
      ['a line over 1 MiB', `{"a":"${'x'.repeat(1_048_576)}"}\n`],
      ['no end of line', 'x'.repeat(1_048_600)],
      ['an attachment over 4 MiB', line({ id: 1, method: 'stream.write', bytes: 5 * 1_048_576 })],
    ] as const) {
      const client = await appClient();
      client.write(bytes);
      assert.equal((await client.next()).error.data.code, 'BODY_TOO_LARGE', what);
      assert.equal(await client.next(), undefined, 'it hangs up');
    }
    for (const [bytes, code] of [
      [ping.trim(), undefined],
      ['{"jsonrpc":"2.0","id":', 'JSON_INVALID'],
      [`${line({ id: 1, method: 'stream.write', bytes: 9 })}abc`, 'REQUEST_INVALID'],
    ] as const) {
      const client = await appClient();
      client.write(bytes);
      client.socket.end();
      assert.equal((await client.next()).error?.data.code, code, bytes);
      assert.equal(await client.next(), undefined, 'it hangs up');
    }
  });

  test('slow, silent and vanishing peers, on app sockets and both HTTP sockets', async () => {
    const head = `POST /events/publish HTTP/1.1\r\nHost: localhost:${core.port}\r\nContent-Type: application/json\r\n`;
    const token = `Authorization: Bearer ${tokens.agenda}\r\n`;
    const paths = [core.socket, core.port, core.rpc('agenda')];
    for (const where of paths) {
      const slow = socketTo(where);
      for (const byte of `${head}${token}Content-Length: 5\r\n\r\n{`.slice(0, 40)) {
        slow.write(byte);
        await pace(1);
      }
      slow.destroy();
    }
    for (let round = 0; round < 10; round++) {
      for (const where of paths.slice(0, 2)) {
        for (const bytes of [
          '',
          'GET',
          `${head}Content-Length: 99\r\n${token}\r\n{"topic"`,
          `${head}Transfer-Encoding: chunked\r\n${token}\r\nff\r\n`,
        ]) {
          const socket = socketTo(where);
          socket.end(bytes);
          if (round % 2) socket.destroy();
        }
      }
      for (const bytes of ['', '{', ping.repeat(50)]) {
        const socket = socketTo(core.rpc('agenda'));
        socket.write(bytes);
        socket.on('connect', () => setTimeout(() => void socket.destroy(), round));
        // A socket whose backlog is full refuses (EAGAIN): it has closed, too.
        await new Promise((resolve) => socket.once('close', resolve));
      }
    }
  });

  test('more silent connections than there is room for keep no client out', async () => {
    for (const [where, unix] of [
      [core.port, false],
      [core.socket, true],
    ] as const) {
      const silent = Array.from({ length: 300 }, () => socketTo(where));
      await Promise.all(silent.map((one) => Promise.race([once(one, 'connect'), once(one, 'close')])));
      assert.equal((await core.ask('/ping', { token: tokens.agenda, unix })).status, 200);
      await bystanders.check();
      for (const one of silent) one.destroy();
    }
  });

  test('bytes that are no HTTP are told so', async () => {
    const host = `Host: localhost:${core.port}\r\n`;
    for (const [bytes, expected] of [
      ['\x16\x03\x01\x02\x00\x01\x00\r\n\r\n', /^HTTP\/1.1 400 .*REQUEST_INVALID/s],
      [
        `GET /ping HTTP/1.1\r\n${host}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`,
        /^HTTP\/1.1 400 .*REQUEST_INVALID/s,
      ],
      [`GET /ping HTTP/1.1\r\n${host}X: ${'x'.repeat(17_000)}\r\n\r\n`, /^HTTP\/1.1 431 .*HEADERS_TOO_LARGE/s],
      [`CONNECT localhost:22 HTTP/1.1\r\n${host}\r\n`, /^HTTP\/1.1 405 .*METHOD_NOT_ALLOWED/s],
      [
        `GET /ping HTTP/1.1\r\n${host}Host: evil.example\r\nConnection: close\r\n\r\n`,
        /^HTTP\/1.1 403 .*ORIGIN_DENIED/s,
      ],
      ['GET /ping HTTP/1.0\r\n\r\n', /^HTTP\/1.1 403 .*ORIGIN_DENIED/s],
    ] as const) {
      const socket = socketTo(core.port);
      socket.write(bytes, 'latin1');
      let text = '';
      for await (const chunk of socket.setEncoding('utf8')) text += chunk;
      assert.match(text, expected);
      assert.match(text, /device-api-version: 1/i);
    }
  });
});

test('others noticed nothing, and nothing is left behind', async () => {
  await bystanders.check();
  await until(() => (sockets(core.descriptors()) === sockets(atFirst) ? true : undefined), 'as many sockets as before');
  await until(() => (sum(core.descriptors()) <= sum(atFirst) ? true : undefined), 'as many descriptors as before');
  assert.ok(core.running);
  const health = (await core.ask('/health', { unix: true })).body;
  assert.equal(health.status, 'ok', JSON.stringify(health));
});

test('the token of an app that has stopped opens no endpoint, and its socket is gone', async () => {
  assert.equal((await core.ask(`/apps/${AGENDA}/stop`, { body: {}, unix: true })).status, 200);
  for (const [operation, { method, path, body }] of Object.entries(ENDPOINTS)) {
    const answer = core.ask(path, { method, body, token: tokens.agenda });
    assert.match(
      (await expectRefusal(operation, 'a stopped app', answer, 401, 'UNAUTHENTICATED')).body.error,
      /stopped/,
    );
  }
  const [error] = await once(connect(core.rpc('agenda')), 'error');
  assert.match(error.code, /ENOENT|ECONNREFUSED/);
  await bystanders.check();
});

interface OpenApiOperation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, { readonly 'x-codes'?: readonly string[] }>>;
}

function codesByStatus(responses: OpenApiOperation['responses']): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(Object.entries(responses).map(([status, response]) => [status, response['x-codes'] ?? []]));
}

/** Status, code, shape (decisions D5) and that the reference names the code for this operation. */
async function expectRefusal(
  operation: string,
  what: string,
  asked: Promise<Answer>,
  status: number,
  code: string,
): Promise<Answer> {
  const answer = await asked;
  const { body, text, headers } = answer;
  assert.deepEqual([answer.status, /^\w+/.exec(body?.error)?.[0]], [status, code], `${what}: ${text}`);
  assert.ok(documented[operation]?.[status]?.includes(code), `${operation} does not document ${status} ${code}`);
  const bare = operation === 'spi.transfer';
  assert.deepEqual(
    Object.keys(body),
    bare ? ['ok', 'error'] : ['ok', 'error', 'code', ...('details' in body ? ['details'] : [])],
  );
  assert.deepEqual([body.ok, body.code, headers['device-api-version']], [false, bare ? undefined : code, '1'], what);
  assert.ok(text.length < 4_096, `${what}: the answer repeats too much`);
  return answer;
}

/** A token that gets past the capability. */
function mayDo(operation: string): string {
  return operation === 'spi.transfer' ? tokens.flash : readFileSync(`${core.run}/operator.token`, 'utf8').trim();
}

async function appClient(): Promise<RawClient> {
  const client = await RawClient.connect(core.rpc('agenda'));
  await client.ready();
  return client;
}

function socketTo(where: string | number) {
  const socket = typeof where === 'string' ? connect(where) : connect(where, '127.0.0.1');
  return socket.on('error', () => socket.destroy());
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((a, b) => a + b, 0);
}

function sockets(counts: Readonly<Record<string, number>>): number {
  return counts['socket:'] ?? 0;
}
