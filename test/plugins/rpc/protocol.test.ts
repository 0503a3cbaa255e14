import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { runs } from '../../fixtures/runs.ts';
import { operation, startRpc } from './fixture.ts';

after(leakCheck());

const subtract = operation(
  'math.subtract',
  async ({ minuend, subtrahend }: { minuend: number; subtrahend: number }) => minuend - subtrahend,
  {
    params: {
      type: 'object',
      required: ['minuend', 'subtrahend'],
      properties: { minuend: { type: 'number' }, subtrahend: { type: 'number' } },
    },
  },
);
const sum = operation('math.sum', async ({ a, b, c }: { a: number; b: number; c: number }) => a + b + c, {
  params: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' }, c: { type: 'number' } } },
});
const notify = (name: string) =>
  operation(name, async () => null, {
    params: { type: 'object', properties: { first: {}, b: {}, c: {}, d: {}, e: {} } },
  });
const getData = operation('data.get', async () => ['hello', 5]);
const all = [subtract, sum, notify('notify.update'), notify('notify.hello'), notify('notify.sum'), getData];

/** The error of an answer with its code alone: messages carry our own code and text. */
const bare = (answer: unknown): unknown =>
  JSON.parse(JSON.stringify(answer, (key, value) => (key === 'error' ? { code: value.code } : value)));

const invalid = { jsonrpc: '2.0', error: { code: -32600 }, id: null };

/** JSON-RPC 2.0 specification, section 7, with the dotted names that operations have. */
const EXAMPLES: readonly (readonly [title: string, line: string, answer: unknown])[] = [
  [
    'positional parameters',
    '{"jsonrpc": "2.0", "method": "math.subtract", "params": [42, 23], "id": 1}',
    { jsonrpc: '2.0', result: 19, id: 1 },
  ],
  [
    'positional parameters the other way round',
    '{"jsonrpc": "2.0", "method": "math.subtract", "params": [23, 42], "id": 2}',
    { jsonrpc: '2.0', result: -19, id: 2 },
  ],
  [
    'named parameters',
    '{"jsonrpc": "2.0", "method": "math.subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": 3}',
    { jsonrpc: '2.0', result: 19, id: 3 },
  ],
  [
    'named parameters in another order',
    '{"jsonrpc": "2.0", "method": "math.subtract", "params": {"minuend": 42, "subtrahend": 23}, "id": 4}',
    { jsonrpc: '2.0', result: 19, id: 4 },
  ],
  ['a notification', '{"jsonrpc": "2.0", "method": "notify.update", "params": [1,2,3,4,5]}', undefined],
  ['a notification of a method that is not there', '{"jsonrpc": "2.0", "method": "foobar"}', undefined],
  [
    'a call of a method that is not there',
    '{"jsonrpc": "2.0", "method": "foobar", "id": "1"}',
    { jsonrpc: '2.0', error: { code: -32601 }, id: '1' },
  ],
  [
    'invalid JSON',
    '{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]',
    { jsonrpc: '2.0', error: { code: -32700 }, id: null },
  ],
  ['an invalid request', '{"jsonrpc": "2.0", "method": 1, "params": "bar"}', invalid],
  [
    'a batch of invalid JSON',
    '[{"jsonrpc": "2.0", "method": "math.sum", "params": [1,2,4], "id": "1"},{"jsonrpc": "2.0", "method"]',
    { jsonrpc: '2.0', error: { code: -32700 }, id: null },
  ],
  ['an empty array', '[]', invalid],
  ['an invalid batch that is not empty', '[1]', [invalid]],
  ['an invalid batch', '[1,2,3]', [invalid, invalid, invalid]],
  [
    'a batch',
    '[{"jsonrpc": "2.0", "method": "math.sum", "params": [1,2,4], "id": "1"},{"jsonrpc": "2.0", "method": "notify.hello", "params": [7]},{"jsonrpc": "2.0", "method": "math.subtract", "params": [42,23], "id": "2"},{"foo": "boo"},{"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},{"jsonrpc": "2.0", "method": "data.get", "id": "9"}]',
    [
      { jsonrpc: '2.0', result: 7, id: '1' },
      { jsonrpc: '2.0', result: 19, id: '2' },
      invalid,
      { jsonrpc: '2.0', error: { code: -32601 }, id: '5' },
      { jsonrpc: '2.0', result: ['hello', 5], id: '9' },
    ],
  ],
  [
    'a batch of notifications',
    '[{"jsonrpc": "2.0", "method": "notify.sum", "params": [1,2,4]},{"jsonrpc": "2.0", "method": "notify.hello", "params": [7]}]',
    undefined,
  ],
];

test("the JSON-RPC 2.0 specification's own examples are answered as it says", async (t) => {
  await using core = await startRpc({ operations: all });
  const client = await core.client();
  await client.ready();
  for (const [title, line, answer] of EXAMPLES)
    await t.test(title, async () => {
      client.write(`${line}\n`);
      if (answer === undefined) assert.equal((await client.request('data.get')).result[0], 'hello');
      else assert.deepEqual(bare(await client.next()), answer);
    });
});

test('a request alone is answered like the same request in a batch of one', async () => {
  const failing = operation('data.fail', async () => {
    throw new CoreError('BUSY', { what: 'it', limit: 1 });
  });
  await using fixture = await startRpc({ operations: [...all, failing], config: { batch: 4 } });
  const client = await fixture.client();
  await client.ready();
  const methods = ['math.sum', 'notify.sum', 'data.get', 'data.fail', 'foobar', 'cancel', 'stream.credit', '__proto__'];
  const params = fc.constantFrom<unknown>(
    undefined,
    [1, 2, 3],
    [1, 2, 3, 4, 5, 6],
    { a: 1 },
    { id: 1 },
    {},
    [],
    null,
    7,
  );
  const id = fc.constantFrom<unknown>(undefined, null, 0, -1, 1.5, 7, '', 'x', '7');
  const request = fc.record({
    method: fc.constantFrom(...methods),
    params,
    id,
    jsonrpc: fc.constantFrom('2.0', '1.0'),
  });
  const meta = fc.constantFrom({}, { meta: { deadlineMs: 1_000 } }, { meta: { deadlineMs: 'soon' } });
  const answerTo = async (message: unknown): Promise<unknown> => {
    client.send(message as object);
    client.send({ jsonrpc: '2.0', id: 'end', method: 'data.get' });
    const first = await client.next();
    if (first.id === 'end') return undefined;
    const end = await client.next();
    assert.equal(end.id, 'end');
    return first;
  };
  const property = fc.asyncProperty(request, meta, async (given, more) => {
    const message = { ...given, ...more };
    const alone = (await answerTo(message)) as { id?: unknown } | undefined;
    const batch = (await answerTo([message])) as { id?: unknown }[] | { id?: unknown } | undefined;
    const answered = Array.isArray(batch) ? batch[0] : batch;
    // jayson's core tells no id of an invalid request in a batch.
    const sameId = answered && alone && answered.id === null ? { ...answered, id: alone.id } : answered;
    assert.deepEqual(alone && Object.entries(alone), sameId && Object.entries(sameId));
  });
  await fc.assert(property, { numRuns: runs(1_000) });
});

test('READY comes first and tells session, app, core, capabilities and limits', async () => {
  await using core = await startRpc({ grants: { 'app.com.example.agenda': ['audio.playback'] } });
  const client = await core.client();
  client.write('{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}\n');
  const ready = await client.ready();
  assert.equal(ready.app, 'com.example.agenda');
  assert.equal(typeof ready.session, 'string');
  assert.equal(ready.core.api, '1.0.0');
  assert.deepEqual(ready.capabilities, ['audio.playback']);
  assert.deepEqual(ready.subscriptions, []);
  assert.deepEqual(ready.snapshot, {});
  assert.equal(ready.limits.batch, 32);
  assert.equal(ready.limits.lineBytes, 1024 * 1024);
  assert.equal((await client.next()).result.openrpc.slice(0, 2), '1.');
});
