import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { appSockets } from '@device-core/plugin-api/inside/services/app-sockets';
import { grants } from '@device-core/plugin-api/inside/services/grants';
import { config } from '@device-core/plugin-api/services/config';
import { startCore } from '../../fixtures/core.ts';
import { type Message, RawClient } from '../rpc/fixture.ts';

const CALLEE = 'com.example.callee';
const CALLER = 'com.example.caller';

/** Two apps on real sockets, one of which may call the other. */
async function twoApps() {
  const core = await startCore({
    plugins: { operations: '^1.0.0', rpc: '^1.0.0', functions: '^1.0.0', config: '^1.0.0' },
  });
  const sockets = core.service(appSockets);
  const held = core.service(grants);
  await held.set({ kind: 'app', id: CALLER }, [`functions.call:${CALLEE}`]);
  await held.set({ kind: 'app', id: CALLEE }, []);
  const clients: RawClient[] = [];
  const open = async (id: string, name: string) => {
    const { path } = await sockets.open({ id, name });
    return async () => {
      const client = await RawClient.connect(path);
      clients.push(client);
      await client.ready();
      return client;
    };
  };
  return {
    core,
    callee: await open(CALLEE, 'callee'),
    caller: await open(CALLER, 'caller'),
    async [Symbol.asyncDispose]() {
      for (const client of clients) client.socket.destroy();
      await core.stop();
    },
  };
}

const register = (client: RawClient, entry: object) =>
  client.request('functions.register', { app: CALLEE, functions: [{ name: 'add', version: '1.0.0', ...entry }] });
const call = (client: RawClient, inputs: object = {}) => client.request('functions.call', { name: 'add', inputs });
const nextCall = (client: RawClient): Promise<Message> => client.find((message) => message.method === 'add');

suite('functions between two apps on real sockets', () => {
  test('900 KB go from app to app and back as they are, however they are written', async () => {
    await using apps = await twoApps();
    const callee = await apps.callee();
    const caller = await apps.caller();
    await register(callee, { inputs: { text: 'string', list: 'array?' }, returns: { text: 'string' } });
    const text = 'ä€x'.repeat(150_000);
    const written = [
      JSON.stringify({ text }),
      JSON.stringify({ list: [1.5, -0, { a: null }], text: `${text}\n\u0001` }),
      `{ "text" : ${JSON.stringify(text)} }`,
      `{"text":1,"text":${JSON.stringify(text)}}`,
    ];
    for (const inputs of written) {
      caller.write(`{"jsonrpc":"2.0","id":"x","method":"functions.call","params":{"name":"add","inputs":${inputs}}}\n`);
      const request = await nextCall(callee);
      assert.deepEqual(request.params, JSON.parse(inputs));
      callee.write(`{"jsonrpc":"2.0","id":"${request.id}","result":{"text":${JSON.stringify(text)}}}\n`);
      const answer = await caller.find((message) => message.id === 'x');
      assert.deepEqual(answer, { jsonrpc: '2.0', id: 'x', result: { result: { text } } });
    }
    caller.write(
      `{"jsonrpc":"2.0","id":"y","method":"functions.call","params":{"name":"add","inputs":{"text":"${'\xff'}`,
    );
    caller.write(Buffer.concat([Buffer.alloc(20_000, 0xff), Buffer.from('"}}}\n')]));
    assert.equal((await caller.find((message) => message.error)).error.data.code, 'JSON_INVALID');
  });

  test('a call goes from app to app and its result back, checked both ways', async () => {
    await using apps = await twoApps();
    const callee = await apps.callee();
    const caller = await apps.caller();
    const answer = await register(callee, { inputs: { a: 'int', b: 'int' }, returns: { sum: 'int' } });
    assert.deepEqual(answer.result, {
      app: CALLEE,
      functions: [{ name: 'add', version: '1.0.0', id: `${CALLEE}/add@1.0.0` }],
    });

    const good = call(caller, { a: 2, b: 3 });
    const request = await nextCall(callee);
    assert.deepEqual(request.params, { a: 2, b: 3 });
    assert.equal(request.meta.caller, `app.${CALLER}`);
    assert.ok(request.meta.deadlineMs > 4_000);
    callee.send({ jsonrpc: '2.0', id: request.id, result: { sum: 5 } });
    assert.deepEqual((await good).result, { result: { sum: 5 } });

    const wrong = call(caller, { a: 2, b: 3 });
    callee.send({ jsonrpc: '2.0', id: (await nextCall(callee)).id, result: { sum: '5' } });
    assert.equal((await wrong).error.data.code, 'RESULT_INVALID');
    assert.equal((await call(caller, { a: 2 })).error.data.code, 'PARAMS_INVALID');
    const back = await callee.request('functions.call', { app: CALLER, name: 'add' });
    assert.equal(back.error.data.code, 'CAPABILITY_DENIED');
  });

  test('an app that is cut off in the middle gets an idempotent call again, with its key, when it is back', async () => {
    await using apps = await twoApps();
    const first = await apps.callee();
    const caller = await apps.caller();
    await register(first, { idempotent: true });
    const answer = call(caller);
    const before = await nextCall(first);
    first.socket.destroy();
    const second = await apps.callee();
    const again = await nextCall(second);
    assert.equal(again.meta.idempotencyKey, before.meta.idempotencyKey);
    assert.ok(again.meta.deadlineMs <= before.meta.deadlineMs);
    second.send({ jsonrpc: '2.0', id: again.id, result: {} });
    assert.deepEqual((await answer).result, { result: {} });
  });

  test('any other call ends with APP_NOT_RUNNING, and the app gets it only once', async () => {
    await using apps = await twoApps();
    const first = await apps.callee();
    const caller = await apps.caller();
    await register(first, {});
    const answer = call(caller);
    await nextCall(first);
    first.socket.destroy();
    assert.equal((await answer).error.data.code, 'APP_NOT_RUNNING');
  });

  test('the timeout of the function ends a call that the app does not answer, and the app is told', async () => {
    await using apps = await twoApps();
    const callee = await apps.callee();
    const caller = await apps.caller();
    await register(callee, { timeout_ms: 100 });
    const answer = call(caller);
    const request = await nextCall(callee);
    assert.equal((await answer).error.data.code, 'TIMEOUT');
    const cancel = await callee.find((message) => message.method === 'cancel');
    assert.equal(cancel.params.callId, request.meta.callId);
  });

  test('a changed setting reaches the sessions of the app that sees it', async () => {
    await using apps = await twoApps();
    const callee = await apps.callee();
    const set = await callee.request('config.set', { key: 'days', value: 3 });
    assert.equal(set.result.source, 'app');
    const own = await callee.find((message) => message.method === 'config.changed');
    assert.deepEqual(own.params, { key: 'days', value: 3, source: 'app', revision: set.result.revision });
    await apps.core.service(config).set({}, 'lang', 'de', { by: 'operator' });
    const device = await callee.find((message) => message.method === 'config.changed');
    assert.deepEqual([device.params.key, device.params.value, device.params.source], ['lang', 'de', 'device']);
  });
});
