import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { operation, type RawClient, sleep, startRpc } from './fixture.ts';

after(leakCheck());

const echo = operation('echo.say', async (params: object) => params);
const later = operation('echo.later', async (params: { ms: number }) => {
  await sleep(params.ms);
  return params;
});
const ask = (id: unknown, params: object = {}) => JSON.stringify({ jsonrpc: '2.0', id, method: 'echo.say', params });
const codes = (answer: { error: { code: number; data: { code: string } } }) => [
  answer.error.code,
  answer.error.data.code,
];

/** What is sent, without or with a newline, and the codes of the answer; the connection goes on. */
const MALFORMED: readonly (readonly [title: string, bytes: string | Buffer, code: number, name: string])[] = [
  ['an object without an end', '{"jsonrpc":"2.0",\n', -32700, 'JSON_INVALID'],
  ['words', 'GET / HTTP/1.1\n', -32700, 'JSON_INVALID'],
  ['a stray bracket', '}\n', -32700, 'JSON_INVALID'],
  ['a balanced value that is no JSON', '{jsonrpc:2}', -32700, 'JSON_INVALID'],
  [
    'bytes that are not UTF-8',
    Buffer.from('{"jsonrpc":"2.0","id":1,"method":"\xff"}\n', 'latin1'),
    -32700,
    'JSON_INVALID',
  ],
  ['a byte order mark', `\ufeff${ask(1)}\n`, -32700, 'JSON_INVALID'],
  ['a string', '"hello"\n', -32600, 'REQUEST_INVALID'],
  ['null', 'null\n', -32600, 'REQUEST_INVALID'],
  ['version 1', '{"id":1,"method":"echo.say","params":[]}\n', -32600, 'REQUEST_INVALID'],
  ['params that are a number', '{"jsonrpc":"2.0","id":1,"method":"echo.say","params":5}\n', -32600, 'REQUEST_INVALID'],
  ['an id that is an object', '{"jsonrpc":"2.0","id":{},"method":"echo.say"}\n', -32600, 'REQUEST_INVALID'],
  [
    'a length of an attachment that is no length',
    '{"jsonrpc":"2.0","id":1,"method":"echo.say","bytes":-1}\n',
    -32600,
    'REQUEST_INVALID',
  ],
  [
    'an attachment where none is taken',
    '{"jsonrpc":"2.0","id":1,"method":"echo.say","bytes":3}\nabc',
    -32600,
    'REQUEST_INVALID',
  ],
  [
    'a deadline that is no number',
    '{"jsonrpc":"2.0","id":1,"method":"echo.say","meta":{"deadlineMs":"soon"}}\n',
    -32600,
    'REQUEST_INVALID',
  ],
  [
    'a value that is nested too deep',
    `{"jsonrpc":"2.0","id":1,"method":"echo.say","params":{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}}\n`,
    -32700,
    'JSON_INVALID',
  ],
  [
    'more values than a message may have',
    `{"jsonrpc":"2.0","id":1,"method":"echo.say","params":{"a":[${'[],'.repeat(100_000)}[]]}}\n`,
    -32700,
    'JSON_INVALID',
  ],
  ['an inherited name', '{"jsonrpc":"2.0","id":1,"method":"constructor"}\n', -32601, 'METHOD_NOT_FOUND'],
  [
    'more params by position than there are',
    '{"jsonrpc":"2.0","id":1,"method":"echo.say","params":[1]}\n',
    -32602,
    'PARAMS_INVALID',
  ],
];

test('malformed input is answered with its code, and the connection goes on', async (t) => {
  await using core = await startRpc({ operations: [echo] });
  const client = await core.client();
  await client.ready();
  for (const [title, bytes, code, name] of MALFORMED)
    await t.test(title, async () => {
      client.write(bytes);
      assert.deepEqual(codes(await client.next()), [code, name]);
      assert.deepEqual((await client.request('echo.say', { still: 'here' })).result, { still: 'here' });
    });
});

test('the sender of an invalid request with an id finds the id in the answer, and only members of the error', async () => {
  await using core = await startRpc({ operations: [echo] });
  const client = await core.client();
  await client.ready();
  for (const [request, id, details] of [
    [
      '{"jsonrpc":"2.0","id":7,"method":"echo.say","params":null}',
      7,
      { reason: 'params must be an object or an array' },
    ],
    ['{"id":"a","method":"echo.say"}', 'a', { reason: 'jsonrpc must be "2.0"' }],
    ['{"jsonrpc":"2.0","method":1,"params":"bar"}', null, { reason: 'method must be a string' }],
    ['{"jsonrpc":"2.0","id":[1],"method":"echo.say"}', null, { reason: 'id must be a string or a number' }],
    ['7', null, { reason: 'it is no object' }],
    ['[]', null, { reason: 'the batch is empty' }],
    ['{"jsonrpc":"2.0","id":8,"method":"no.such"}', 8, { name: 'no.such' }],
  ] as const) {
    client.write(`${request}\n`);
    const answer = await client.next();
    assert.deepEqual([answer.id, answer.error.data.details], [id, details], request);
  }
});

test('messages without newlines, several in a line, and with blank lines between are read', async () => {
  await using core = await startRpc({ operations: [echo] });
  const client = await core.client();
  await client.ready();
  client.write(ask(1));
  assert.equal((await client.next()).id, 1);
  client.write(`${ask(2)}${ask(3)}\r\n\r\n \n${ask(4)} ${ask(5, { text: '}{"\\' })}`);
  for (const id of [2, 3, 4, 5]) assert.equal((await client.next()).id, id);
  client.write(`${ask(6)}rubbish\n${ask(7)}\n`);
  assert.equal((await client.next()).error.code, -32600);
  assert.deepEqual([(await client.next()).id, (await client.next()).id].toSorted(), [6, 7]);
});

test('a message that comes byte by byte, in the middle of characters, is read', async () => {
  await using core = await startRpc({ operations: [echo] });
  const client = await core.client();
  await client.ready();
  for (const byte of Buffer.from(`${ask(1, { text: 'für 🌍' })}\n${ask(2)}`)) {
    client.write(Buffer.of(byte));
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.deepEqual((await client.next()).result, { text: 'für 🌍' });
  assert.equal((await client.next()).id, 2);
});

test('a message of just the limit is taken, a longer one is answered and ends the connection', async (t) => {
  await using core = await startRpc({ operations: [echo], config: { lineBytes: 4096, attachmentBytes: 8192 } });
  const exact = ask(1, { text: '' });
  const fill = 'x'.repeat(4096 - exact.length);
  const client = await core.client();
  await client.ready();
  client.write(`${ask(1, { text: fill })}\n`);
  assert.equal((await client.next()).id, 1); // the answer is shorter than the question
  const tooLong: readonly (readonly [title: string, bytes: string])[] = [
    ['with a newline', `${ask(1, { text: `${fill}x` })}\n`],
    ['without an end', `{"a":"${'x'.repeat(5000)}`],
    ['rubbish without an end', 'x'.repeat(5000)],
    ['blanks without an end', ' '.repeat(5000)],
    ['a long attachment', '{"jsonrpc":"2.0","id":1,"method":"echo.say","bytes":8193}\n'],
  ];
  for (const [title, bytes] of tooLong)
    await t.test(title, async () => {
      const doomed = await core.client();
      await doomed.ready();
      doomed.write(bytes);
      assert.deepEqual(codes(await doomed.next()), [-32600, 'BODY_TOO_LARGE']);
      assert.equal(await doomed.next(), undefined);
    });
  assert.equal((await client.request('echo.say')).error, undefined);
});

test('an answer that would be too long is an error of its request alone', async () => {
  const long = operation('echo.long', async () => 'x'.repeat(5000));
  await using core = await startRpc({ operations: [echo, long], config: { lineBytes: 4096 } });
  const client = await core.client();
  await client.ready();
  assert.deepEqual(codes(await client.request('echo.long')), [-32600, 'BODY_TOO_LARGE']);
  assert.equal((await client.request('echo.say')).error, undefined);
});

test('a peer that closes its side gets the answers to what it asked, the last without a newline', async () => {
  await using core = await startRpc({ operations: [echo, later] });
  const client = await core.client();
  await client.ready();
  client.write('{"jsonrpc":"2.0","id":1,"method":"echo.later","params":{"ms":50}}');
  client.socket.end(ask(2));
  assert.equal((await client.next()).id, 2);
  assert.equal((await client.next()).id, 1);
  assert.equal(await client.next(), undefined);
});

test('a peer that closes its side in the middle of a message is told and hung up', async () => {
  await using core = await startRpc({ operations: [echo] });
  for (const [bytes, code] of [
    ['{"jsonrpc":"2.0"', -32700],
    ['{"jsonrpc":"2.0","id":1,"method":"stream.write","params":{},"bytes":10}\nabc', -32600],
  ] as const) {
    const client = await core.client();
    await client.ready();
    client.socket.end(bytes);
    assert.equal((await client.next()).error.code, code);
    assert.equal(await client.next(), undefined);
  }
});

test('batches hold 32 requests at most, and a batch in a batch is refused', async () => {
  await using core = await startRpc({ operations: [echo] });
  const client = await core.client();
  await client.ready();
  const batch = (size: number) => `[${Array.from({ length: size }, (_, id) => ask(id)).join(',')}]\n`;
  client.write(batch(32));
  assert.equal((await client.next()).length, 32);
  client.write(batch(33));
  const refused = await client.next();
  assert.deepEqual(codes(refused), [-32600, 'REQUEST_INVALID']);
  assert.equal(refused.error.data.details.reason, 'the batch has 33 messages, at most 32 are taken');
  client.write(`[1,${ask(2)},[],{"jsonrpc":"2.0","id":3},${ask(4).replace('echo', 'no')}]\n`);
  assert.deepEqual(
    (await client.next()).map(({ error }: { error?: { data: { details: object } } }) => error?.data.details),
    [
      { reason: 'it is no object' },
      undefined,
      { reason: 'it is no object' },
      { reason: 'method must be a string' },
      { name: 'no.say' },
    ],
  );
  client.write(`[[${ask(1)}]]\n`);
  assert.equal((await client.next())[0].error.code, -32600);
  client.write(`[[],${ask(2)}]\n`);
  const mixed = await client.next();
  assert.deepEqual([mixed[0].error.code, mixed[1].id], [-32600, 2]);
});

test('requests with the same id are all answered, and a cancel means all of them', async () => {
  let aborted = 0;
  const hang = operation(
    'wait.forever',
    (_params: object, { signal }) =>
      new Promise((_, reject) =>
        signal.addEventListener('abort', () => {
          aborted++;
          reject(signal.reason);
        }),
      ),
  );
  await using core = await startRpc({ operations: [echo, hang] });
  const client = await core.client();
  await client.ready();
  client.write(`${ask(1, { a: 1 })}${ask(1, { a: 2 })}\n`);
  assert.deepEqual([(await client.next()).result.a, (await client.next()).result.a], [1, 2]);
  for (const cancel of ['cancel', '$/cancelRequest', '$/cancel']) {
    aborted = 0;
    for (let i = 0; i < 3; i++) client.send({ jsonrpc: '2.0', id: 'same', method: 'wait.forever' });
    client.send({ jsonrpc: '2.0', method: cancel, params: { id: 'same' } });
    for (let i = 0; i < 3; i++) assert.deepEqual(codes(await client.next()), [-32800, 'CANCELLED']);
    assert.equal(aborted, 3);
  }
  client.send({ jsonrpc: '2.0', method: 'cancel', params: { id: 'unknown' } });
  assert.equal((await client.request('echo.say')).error, undefined);
});

test('a handler is aborted when its app goes away', async () => {
  let why: unknown;
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const hang = operation(
    'wait.forever',
    (_params: object, { signal }) =>
      new Promise((_, reject) => {
        begin();
        signal.addEventListener('abort', () => {
          why = signal.reason.code;
          reject(signal.reason);
          end();
        });
      }),
  );
  await using core = await startRpc({ operations: [hang] });
  const client = await core.client();
  await client.ready();
  client.send({ jsonrpc: '2.0', id: 1, method: 'wait.forever' });
  await begun;
  client.socket.destroy();
  await ended;
  assert.equal(why, 'SESSION_CLOSED');
});

test('too many requests in flight are refused, one by one', async () => {
  await using core = await startRpc({ operations: [later], config: { inFlight: 2 } });
  const client = await core.client();
  await client.ready();
  for (const id of [1, 2, 3]) client.send({ jsonrpc: '2.0', id, method: 'echo.later', params: { ms: 30 } });
  assert.deepEqual(codes(await client.next()), [-32005, 'BUSY']);
  assert.equal((await client.next()).id, 1);
  assert.equal((await client.next()).id, 2);
});

test('while one client misbehaves in every way the others notice nothing', async () => {
  await using core = await startRpc({ operations: [echo], config: { connections: 16, lineBytes: 65_536 } });
  const good = await core.client();
  await good.ready();
  const bad: ((client: RawClient) => void)[] = [
    (client) => client.write('x'.repeat(100_000)),
    (client) => client.write('['.repeat(60_000)),
    (client) => client.write('{"jsonrpc":"2.0","id":1,"method":"echo.say","bytes":99999999999}\n'),
    (client) => client.socket.destroy(),
    (client) => client.socket.end('{'),
    (client) => client.write('\n'.repeat(100_000)),
    (client) => client.write('1\n'.repeat(5_000)),
  ];
  for (const misbehave of bad) {
    const client = await core.client();
    misbehave(client);
    assert.deepEqual((await good.request('echo.say', { a: 1 })).result, { a: 1 });
    client.socket.destroy();
  }
});
