import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { CoreError } from '@device-core/plugin-api';
import type { StreamChannel, StreamEndpoint } from '@device-core/plugin-api/services/operations';
import { leakCheck } from '@device-core/plugin-api/testing';
import { pace } from '../../fixtures/eventually.ts';
import { APP, type RawClient, sleep, startRpc, until } from './fixture.ts';

after(leakCheck());

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function endpoint(
  name: string,
  run: (params: object, channel: StreamChannel) => Promise<void>,
  more: Partial<StreamEndpoint> = {},
): StreamEndpoint<never> {
  const params = { type: 'object', additionalProperties: true };
  return { name, summary: name, direction: 'duplex', params, run, ...more } as StreamEndpoint<never>;
}

const loopback = endpoint('test.loopback', async (_params, channel) => {
  for await (const chunk of channel.incoming) await channel.send(chunk);
});

async function open(client: RawClient, stream: string, more: object = {}) {
  return (await client.request('stream.open', { stream, ...more })).result as { id: string; credit: number };
}

const write = (client: RawClient, id: string, bytes: Buffer) =>
  client.send({ jsonrpc: '2.0', method: 'stream.write', params: { id } }, bytes);

test('a stream carries bytes both ways as base64 and, where asked for, as attachments', async () => {
  await using core = await startRpc({ streams: [loopback] });
  const client = await core.client();
  await client.ready();
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
  for (const binary of [false, true]) {
    const { id, credit } = await open(client, 'test.loopback', { binary });
    assert.equal(credit, 262_144);
    for (const attached of [false, true]) {
      const params = attached ? { id } : { id, data: bytes.toString('base64') };
      const written = client.request('stream.write', params, {}, attached ? bytes : undefined);
      const data = await client.find((message) => message.method === 'stream.data');
      assert.deepEqual(data.params, {
        id,
        seq: attached ? 1 : 0,
        ...(binary ? {} : { data: bytes.toString('base64') }),
      });
      if (binary) assert.ok(bytes.equals(data.attachment));
      assert.deepEqual((await written).result, {});
    }
    assert.deepEqual((await client.request('stream.close', { id })).result, {});
    assert.deepEqual((await client.find((message) => message.method === 'stream.end')).params, { id });
    assert.equal((await client.request('stream.write', { id, data: '' })).error.data.code, 'STREAM_NOT_FOUND');
  }
});

test('the answer to stream.open comes before anything of the stream, in a batch, too', async () => {
  const eager = endpoint('test.eager', async (_params, channel) => channel.send(Buffer.from('hello')), {
    direction: 'read',
  });
  const fast = endpoint('test.fast', async () => undefined);
  await using core = await startRpc({ streams: [eager, fast] });
  const client = await core.client();
  await client.ready();
  const ask = (id: number, stream: string) => ({ jsonrpc: '2.0', id, method: 'stream.open', params: { stream } });
  client.send(ask(1, 'test.eager'));
  assert.equal((await client.next()).result.id, 'stream-1');
  assert.equal((await client.next()).params.data, Buffer.from('hello').toString('base64'));
  assert.equal((await client.next()).method, 'stream.end');
  client.send([ask(2, 'test.fast'), ask(3, 'test.eager')]);
  assert.equal((await client.next()).length, 2);
  const rest = [await client.next(), await client.next(), await client.next()].map(({ method }) => method);
  assert.deepEqual(rest.toSorted(), ['stream.data', 'stream.end', 'stream.end']);
});

test('errors: unknown streams, bad base64, no id, too many, an endpoint that fails', async () => {
  const fails = endpoint('test.fails', async () => {
    throw new CoreError('NOT_INITIALIZED', { reason: 'no microphone' });
  });
  const guarded = endpoint('test.guarded', async () => undefined, { capability: 'audio.capture' });
  await using core = await startRpc({ streams: [loopback, fails, guarded], config: { streams: 2 } });
  const client = await core.client();
  await client.ready();
  const code = async (method: string, params: object) => (await client.request(method, params)).error.data.code;
  assert.equal(await code('stream.open', { stream: 'no.such' }), 'STREAM_NOT_FOUND');
  assert.equal(await code('stream.open', { stream: 'test.guarded' }), 'CAPABILITY_DENIED');
  assert.equal(await code('stream.open', {}), 'PARAMS_INVALID');
  assert.equal(await code('stream.write', { id: 'stream-9', data: '' }), 'STREAM_NOT_FOUND');
  assert.equal(await code('stream.close', { id: 'stream-9' }), 'STREAM_NOT_FOUND');
  assert.equal(await code('stream.credit', { id: 'stream-9', bytes: 1 }), 'STREAM_NOT_FOUND');
  assert.equal(await code('stream.write', { id: 9, data: '' }), 'PARAMS_INVALID');
  assert.equal(await code('stream.credit', { id: null, bytes: 1 }), 'PARAMS_INVALID');
  const { id } = await open(client, 'test.loopback');
  assert.equal(await code('stream.write', { id, data: 'abc' }), 'PARAMS_INVALID');
  assert.equal(await code('stream.write', { id }), 'PARAMS_INVALID');
  assert.equal(await code('stream.credit', { id, bytes: 0 }), 'PARAMS_INVALID');
  await open(client, 'test.loopback');
  assert.equal(await code('stream.open', { stream: 'test.loopback' }), 'STREAM_LIMIT');
  await client.request('stream.close', { id });
  await client.find((message) => message.method === 'stream.end');
  const failing = await open(client, 'test.fails');
  const end = await client.find((message) => message.method === 'stream.end');
  assert.equal(end.params.id, failing.id);
  assert.equal(end.params.error.data.code, 'NOT_INITIALIZED');
  client.send({ jsonrpc: '2.0', method: 'stream.open', params: { stream: 'test.loopback' } });
  assert.equal((await client.request('rpc.discover')).error, undefined);
  assert.equal((await core.sockets.sessions(APP)).length, 1);
});

test('an app that writes more than its credit loses the stream and nothing else', async () => {
  const deaf = endpoint(
    'test.deaf',
    (_params, { signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
  );
  await using core = await startRpc({ streams: [deaf], config: { streamCredit: 1024 } });
  const client = await core.client();
  await client.ready();
  const { id, credit } = await open(client, 'test.deaf');
  assert.equal(credit, 1024);
  for (let i = 0; i < 1024; i++) write(client, id, Buffer.of(i & 255));
  assert.equal((await client.request('stream.write', { id }, {}, Buffer.of(1))).error.data.code, 'STREAM_OVERRUN');
  const end = await client.find((message) => message.method === 'stream.end');
  assert.equal(end.params.error.data.code, 'STREAM_OVERRUN');
  assert.equal((await client.request('rpc.discover')).error, undefined);
});

test('a plugin sends no more than the app takes, and a chunk goes in pieces rather than wait for all its credit', async () => {
  let sent = 0;
  const source = endpoint(
    'test.source',
    async (_params, channel) => {
      for (;;) {
        await channel.send(Buffer.alloc(1000, 'x'));
        sent++;
      }
    },
    { direction: 'read' },
  );
  await using core = await startRpc({ streams: [source] });
  const client = await core.client();
  await client.ready();
  const { id } = await open(client, 'test.source', { binary: true, credit: 2500 });
  const sizes: [number, boolean][] = [];
  for (let i = 0; i < 3; i++) {
    const { attachment, params } = await client.next();
    sizes.push([attachment.length, params.more === true]);
  }
  assert.deepEqual(sizes, [[1000, false], [1000, false], [500, true]]); // biome-ignore format: a table
  await sleep(30);
  assert.equal(sent, 2);
  client.send({ jsonrpc: '2.0', method: 'stream.credit', params: { id, bytes: 500 } });
  assert.equal((await client.next()).attachment.length, 500);
  await until(() => sent === 3);
  await client.request('stream.close', { id });
  await client.find((message) => message.method === 'stream.end');
});

test('a slow reader never makes the Core hold more than its credit and one socket full', async () => {
  const chunk = Buffer.alloc(64 * 1024, 'x');
  let inFlight = 0;
  let sent = 0;
  const flood = endpoint(
    'test.flood',
    async (_params, channel) => {
      for (;;) {
        inFlight++;
        await channel.send(chunk);
        inFlight--;
        sent += chunk.length;
      }
    },
    { direction: 'read' },
  );
  await using core = await startRpc({ streams: [flood] });
  const client = await core.client();
  await client.ready();
  client.write(
    Array.from({ length: 16 }, (_, id) =>
      JSON.stringify({
        jsonrpc: '2.0',
        id,
        method: 'stream.open',
        params: { stream: 'test.flood', binary: true, credit: 1 << 30 },
      }),
    ).join('\n'),
  );
  await until(() => sent > 0);
  client.socket.pause();
  await pace(100);
  const before = sent;
  await pace(300);
  // 256 KiB of ours, what the kernel's buffers take, and one chunk of each stream.
  assert.ok(sent - before < 2_000_000, `${sent - before} bytes went on`);
  assert.ok(sent < 8_000_000, `${sent} bytes were taken`);
  assert.ok(inFlight <= 16);
  client.socket.resume();
  await until(() => sent > before + 20_000_000);
  client.socket.destroy();
  await until(async () => (await core.sockets.sessions(APP)).length === 0);
});

test('a slow plugin never makes the Core hold more than it granted', async () => {
  let held = 0;
  let most = 0;
  const slow = endpoint('test.slow', async (_params, channel) => {
    for await (const chunk of channel.incoming) {
      held -= chunk.length;
      await sleep(1);
    }
  });
  await using core = await startRpc({ streams: [slow], config: { streamCredit: 8192 } });
  const client = await core.client();
  await client.ready();
  let { id, credit } = await open(client, 'test.slow');
  for (let total = 0; total < 200_000; ) {
    if (credit < 1000) credit += (await client.find((message) => message.method === 'stream.credit')).params.bytes;
    write(client, id, Buffer.alloc(1000));
    held += 1000;
    most = Math.max(most, held);
    credit -= 1000;
    total += 1000;
  }
  await client.request('stream.close', { id });
  assert.equal((await client.find((message) => message.method === 'stream.end')).params.error, undefined);
  assert.equal(held, 0);
  assert.ok(most <= 8192 + 8192, `${most} bytes were held`);
});

test('streams end with their session, and plugins learn of it', async () => {
  let why: unknown;
  const patient = endpoint('test.patient', async (_params, channel) => {
    for await (const _chunk of channel.incoming) throw new Error('nothing was written');
    why = channel.signal.reason.code;
    await assert.rejects(channel.send(Buffer.of(1)), { code: 'SESSION_CLOSED' });
  });
  await using core = await startRpc({ streams: [patient] });
  const client = await core.client();
  await client.ready();
  await open(client, 'test.patient');
  client.socket.destroy();
  await until(() => why === 'SESSION_CLOSED');
});

test('a stream that is closed again and again ends once, and costs nothing more', async () => {
  const slow = endpoint(
    'test.slow',
    (_params, { signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
  );
  await using core = await startRpc({ streams: [slow] });
  const client = await core.client();
  await client.ready();
  const { id } = await open(client, 'test.slow');
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (let n = 0; n < 20_000; n++) client.send({ jsonrpc: '2.0', method: 'stream.close', params: { id } });
  // Across a border each of them takes a while, and what is in flight is bounded.
  await until(async () => (await client.request('stream.close', { id })).result !== undefined);
  let grown = Number.POSITIVE_INFINITY;
  for (let turn = 0; turn < 20 && grown >= 3_000_000; turn++) {
    await sleep(10);
    collectGarbage();
    grown = process.memoryUsage().heapUsed - before;
  }
  assert.ok(grown < 3_000_000, `${grown} bytes are held`);
});
