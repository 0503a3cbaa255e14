import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { connectApp, type RpcError } from '@device-core/plugin-api/app';
import { leakCheck } from '@device-core/plugin-api/testing';
import { pace } from '../../fixtures/eventually.ts';
import { APP, operation, startRpc, until } from './fixture.ts';

after(leakCheck());

const meta = (callId: string) => ({ callId, version: '1.0.0', deadlineMs: 2_000, caller: 'operator' });

test('an app calls, is called, is cancelled and is told to stop', async () => {
  const registered: unknown[] = [];
  await using core = await startRpc({
    operations: [
      operation('echo.say', async (params: object) => params),
      operation('functions.register', async (params: object) => void registered.push(params)),
      operation('trace.told', async (_params: object, { trace }) => ({ trace: trace?.traceId })),
      operation(
        'wait.forever',
        (_params: object, { signal }) =>
          new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      ),
    ],
  });
  const app = await connectApp({ rpcSocket: core.path });
  assert.equal((await app.ready).app, APP);
  assert.deepEqual(await app.call('echo.say', { text: 'grüß' }), { text: 'grüß' });
  await assert.rejects(
    app.call('no.such'),
    (error: RpcError) => error.code === 'METHOD_NOT_FOUND' && error.rpcCode === -32601,
  );

  const withdrawn = new AbortController();
  const waiting = app.call('wait.forever', {}, { signal: withdrawn.signal });
  setImmediate(() => withdrawn.abort());
  await assert.rejects(waiting, { code: 'CANCELLED' });
  await assert.rejects(app.call('wait.forever', {}, { timeoutMs: 50 }), { code: 'TIMEOUT' });

  let aborted = false;
  await app.provide({ name: 'add', version: '1.0.0' }, ({ a, b }: { a: number; b: number }) => ({ sum: a + b }));
  await app.provide({ name: 'hang', version: '1.0.0' }, async (_inputs, { signal }) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    aborted = true;
    return {};
  });
  assert.equal(registered.length, 2);
  const called = await core.sockets.call(APP, { method: 'add', params: { a: 1, b: 2 }, meta: meta('1') });
  assert.deepEqual(called, { sum: 3 });
  assert.deepEqual(await core.sockets.call(APP, { method: 'ping', params: {}, meta: meta('p'), urgent: true }), {});
  await assert.rejects(core.sockets.call(APP, { method: 'no', params: {}, meta: meta('2') }), { code: 'APP_ERROR' });
  const cancel = new AbortController();
  const hanging = core.sockets.call(APP, { method: 'hang', params: {}, meta: meta('3'), signal: cancel.signal });
  void pace(20).then(() => cancel.abort());
  await assert.rejects(hanging, { code: 'CANCELLED' });
  await until(() => aborted);

  await app.provide('asks', (_inputs, { meta: { traceparent } }) =>
    app.call<object>('trace.told', {}, { traceparent }),
  );
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00';
  const asks = core.sockets.call(APP, { method: 'asks', params: {}, meta: { ...meta('4'), traceparent } });
  assert.deepEqual(await asks, { trace: '4bf92f3577b34da6a3ce929d0e0e4736' });

  let told = '';
  app.onStop(({ reason }) => {
    told = reason;
  });
  await core.sockets.close(APP, 'an update');
  assert.equal(await app.stopped, 'an update');
  assert.equal(told, 'an update');
});

test('an app connects again after its connection was lost and registers its functions anew', async (context) => {
  let registrations = 0;
  const register = operation('functions.register', async () => {
    registrations++;
  });
  await using core = await startRpc({ operations: [register] });
  if (core.rpc.isolation !== 'inline') return context.skip('its connections are broken from inside of its thread');
  const app = await connectApp({ rpcSocket: core.path });
  const first = (await app.ready).session;
  await app.provide({ name: 'noop', version: '1.0.0' }, () => ({}));
  const [session] = await core.sockets.sessions(APP);
  assert.equal(session?.id, first);
  const lost = new Promise<void>((resolve) => {
    core.sockets.onSession(({ state }) => state === 'closed' && resolve());
  });
  core.breakConnections();
  await lost;
  await until(async () => registrations === 2 && (await core.sockets.sessions(APP)).length === 1);
  assert.notEqual((await app.ready).session, first);
  app.close();
  await assert.rejects(app.call('echo.say'), { code: 'SESSION_CLOSED' });
});

test('an app reads and writes a stream in pieces that its credit covers', async () => {
  await using core = await startRpc({
    streams: [
      {
        name: 'test.loopback',
        summary: 'sends back what comes',
        direction: 'duplex',
        params: { type: 'object' },
        async run(_params, channel) {
          for await (const chunk of channel.incoming) await channel.send(chunk);
        },
      },
    ],
  });
  const app = await connectApp({ rpcSocket: core.path });
  for (const binary of [true, false]) {
    const stream = await app.openStream('test.loopback', {}, { binary, credit: 10_000 });
    const sent = Buffer.alloc(1_000_000, 'Zürich');
    const writing = (async () => {
      for (let at = 0; at < sent.length; at += 70_001) await stream.write(sent.subarray(at, at + 70_001));
      await stream.close();
    })();
    const read: Uint8Array[] = [];
    for await (const chunk of stream) read.push(chunk);
    await writing;
    await stream.ended;
    assert.ok(Buffer.concat(read).equals(sent));
  }
  app.close();
});
