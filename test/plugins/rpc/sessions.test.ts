import assert from 'node:assert/strict';
import { lstatSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { after, test } from 'node:test';
import type { Caller } from '@device-core/plugin-api';
import { steadyMs } from '@device-core/plugin-api';
import type { AppCall } from '@device-core/plugin-api/inside/services/app-sockets';
import { identity as identityRef } from '@device-core/plugin-api/inside/services/identity';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { pace } from '../../fixtures/eventually.ts';
import { APP, operation, sleep, startRpc, until } from './fixture.ts';

after(leakCheck());

const echo = operation('echo.say', async (params: object) => params);
const call = (more: Partial<AppCall> = {}, deadlineMs = 2_000): AppCall => ({
  method: 'agenda.today',
  params: { day: 1 },
  meta: { callId: 'c1', version: '1.0.0', deadlineMs, caller: 'operator' },
  ...more,
});

test('the socket and its directory belong to the app alone, and opening it again changes nothing', async () => {
  await using core = await startRpc();
  assert.match(core.path, /\/run\/apps\/agenda\/rpc\.sock$/);
  assert.equal(statSync(core.path).mode & 0o777, 0o600);
  assert.equal(statSync(dirname(core.path)).mode & 0o777, 0o700);
  const client = await core.client();
  await client.ready();
  assert.deepEqual(await core.sockets.open({ id: APP, name: 'agenda' }), { path: core.path });
  assert.equal((await client.request('system.openapi')).error, undefined);
  assert.equal(await core.sockets.path(APP), core.path);
  await assert.rejects(core.sockets.path('com.example.other'), { code: 'APP_NOT_FOUND' });
  await assert.rejects(core.sockets.open({ id: 'com.example.other', name: 'agenda' }), { code: 'PARAMS_INVALID' });
});

test('names and places that cannot hold a socket are refused', async () => {
  await using core = await startRpc();
  for (const name of ['', '..', '../x', 'A', 'a/b', 'a'.repeat(41)])
    await assert.rejects(core.sockets.open({ id: 'x', name }), { code: 'PARAMS_INVALID' });
  const run = dirname(dirname(dirname(core.path)));
  mkdirSync(join(run, 'apps/file/rpc.sock'), { recursive: true });
  await assert.rejects(core.sockets.open({ id: 'x', name: 'file' }), { code: 'UNAVAILABLE' });
  writeFileSync(join(run, 'apps/taken'), '');
  await assert.rejects(core.sockets.open({ id: 'x', name: 'taken' }), { code: 'UNAVAILABLE' });
});

test('READY says what the taps of session.open add, and what an app sends before it waits', async () => {
  await using core = await startRpc({ operations: [echo] });
  core.rpc.tap('session.open', async (ready, session) => {
    void session.notify('event', { early: true });
    await sleep(30);
    return { ...ready, subscriptions: [{ filter: 'system.power', accepted: true }] };
  });
  const client = await core.client();
  client.write('{"jsonrpc":"2.0","id":1,"method":"echo.say"}');
  assert.deepEqual((await client.ready()).subscriptions, [{ filter: 'system.power', accepted: true }]);
  assert.equal((await client.next()).method, 'event');
  assert.equal((await client.next()).id, 1);
});

test('READY comes within a second although a tap hangs, throws or answers nonsense', async (t) => {
  const taps = {
    hangs: () => new Promise<never>(() => undefined),
    throws: () => Promise.reject(new Error('broken')),
    'is too long': async (ready: object) => ({ ...ready, snapshot: { x: 'x'.repeat(2_000_000) } }) as never,
  };
  for (const [title, tap] of Object.entries(taps))
    await t.test(title, async () => {
      await using core = await startRpc();
      core.rpc.tap('session.open', tap as never);
      const start = performance.now();
      const client = await core.client();
      assert.equal((await client.ready()).app, APP);
      assert.ok(performance.now() - start < 1_000);
      assert.ok(core.rpc.logged.some(({ level }) => level === 'warn' || level === 'error'));
    });
});

test('an app has four connections at most, and a fifth when one has gone', async () => {
  await using core = await startRpc();
  const clients = [];
  for (let i = 0; i < 4; i++) clients.push(await core.client());
  for (const client of clients) await client.ready();
  const fifth = await core.client();
  const refusal = await fifth.next();
  assert.deepEqual([refusal.method, refusal.params.graceMs], ['stop', 0]);
  assert.equal(await fifth.next(), undefined);
  clients[0]!.socket.destroy();
  await until(async () => (await core.sockets.sessions(APP)).length === 3);
  await (await core.client()).ready();
});

test('only the app, the Core and root may connect', async (t) => {
  const own = process.getuid!();
  const foreign = own + 4711;
  const cases: readonly (readonly [
    title: string,
    peer: number | undefined,
    appUid: number | undefined,
    ok: boolean,
    process?: Caller,
  ])[] = [
    ['the Core itself', own, undefined, true],
    ['root', 0, undefined, true],
    ['the user of the app', foreign, foreign, true],
    ['another user', foreign, undefined, false],
    ['unreadable credentials', undefined, undefined, true],
    ['a process of the app', own, undefined, true, { kind: 'app', id: 'com.example.uid' }],
    ['a process of another app under the same user', own, undefined, false, { kind: 'app', id: APP }],
    ['a process that has gone', own, undefined, false, { kind: 'anonymous', id: 'anonymous' }],
    [
      'a process under the user of an app that nobody launched',
      foreign,
      foreign,
      true,
      { kind: 'anonymous', id: 'anonymous' },
    ],
  ];
  for (const [title, uid, appUid, ok, process = { kind: 'operator', id: 'operator' } as const] of cases)
    await t.test(title, async () => {
      const peerOf = async (fd: number) => {
        assert.ok(fd > 2);
        return uid === undefined ? undefined : { uid, gid: 1, pid: 1 };
      };
      const onRevoked = () => ({ [Symbol.dispose]: () => undefined });
      await using core = await startRpc({ identity: { peerOf, onRevoked, authenticate: async () => process } });
      const other = { id: 'com.example.uid', name: 'uid', ...(appUid === undefined ? {} : { uid: appUid }) };
      const { path } = await core.sockets.open(other);
      if (appUid !== undefined && own === 0)
        for (const file of [path, join(path, '..')]) assert.equal(lstatSync(file).uid, appUid);
      const client = await core.client(path);
      assert.equal((await client.next()).method, ok ? 'READY' : 'stop');
      if (!ok) assert.equal(await client.next(), undefined);
    });
});

test('a socket that cannot be opened is the trouble of its own app alone', async () => {
  let revoke: (app: string) => void = () => undefined;
  const identity = {
    peerOf: async () => undefined,
    onRevoked: (listener: (app: string) => void) => {
      revoke = listener;
      return { [Symbol.dispose]: () => undefined };
    },
  };
  await using core = await startRpc({ identity });
  const { path } = await core.sockets.open({ id: 'com.example.other', name: 'other' });
  await core.sockets.close('com.example.other', 'to make room');
  writeFileSync(path, 'no socket');
  const open = (id: string, name: string) => core.sockets.open({ id, name });
  const all = [
    assert.rejects(open('com.example.other', 'other'), { code: 'UNAVAILABLE' }),
    assert.rejects(open('com.example.third', 'other'), { code: 'PARAMS_INVALID' }),
    open('com.example.fine', 'fine'),
  ];
  await new Promise(process.nextTick);
  revoke('com.example.other'); // a rejection that nobody handles would end this process
  await Promise.all(all);
});

test('a socket that is opened while it closes is there afterwards', async () => {
  await using core = await startRpc();
  await (await core.client()).ready();
  const [app] = await core.sockets.sessions();
  const path = await core.sockets.path(APP);
  const closing = core.sockets.close(APP, 'it restarts');
  const opened = await core.sockets.open({ id: APP, name: basename(dirname(path)) });
  await closing;
  assert.equal(opened.path, path);
  const session = await (await core.client()).ready();
  assert.notEqual(session.session, app?.id);
});

test('no app comes in while the plugin that tells callers apart is away', async () => {
  const peerOf = async () => undefined;
  const onRevoked = () => ({ [Symbol.dispose]: () => undefined });
  await using core = await startRpc({ identity: { peerOf, onRevoked } });
  await (await core.client()).ready();
  await core.rpc.disappear(identityRef);
  const late = await core.client();
  const { method, params } = await late.next();
  assert.equal(method, 'stop');
  assert.match(params.reason, /plugin identity is away/);
});

test('connections end when the identity of their app ends', async () => {
  let revoke: (app: string) => void = () => undefined;
  const identity = {
    peerOf: async () => undefined,
    onRevoked: (listener: (app: string) => void) => {
      revoke = listener;
      return { [Symbol.dispose]: () => undefined };
    },
  };
  await using core = await startRpc({ identity });
  const client = await core.client();
  await client.ready();
  revoke('com.example.other');
  assert.equal((await client.request('system.openapi')).error, undefined);
  revoke(APP);
  assert.equal(await client.next(), undefined);
});

test('methods appear and disappear while an app is connected', async () => {
  await using core = await startRpc();
  const client = await core.client();
  await client.ready();
  for (let round = 0; round < 3; round++) {
    // Once it was there, its plugin may be restarting.
    const { data } = (await client.request('echo.say')).error;
    assert.equal(data.code, round === 0 ? 'METHOD_NOT_FOUND' : 'UNAVAILABLE');
    const added = core.table.add(echo);
    const hidden = core.table.add(operation('echo.hidden', async () => 1, { rpc: false }));
    await core.settle();
    assert.deepEqual((await client.request('echo.say', { round })).result, { round });
    assert.equal((await client.request('echo.hidden')).error.data.code, 'METHOD_NOT_FOUND');
    added[Symbol.dispose]();
    hidden[Symbol.dispose]();
    await core.settle();
  }
});

test('a method of a plugin on its way is UNAVAILABLE, also by position, in a batch, and as a notification', async () => {
  await using core = await startRpc();
  const client = await core.client();
  await client.ready();
  const batch = [
    { jsonrpc: '2.0', id: 'a', method: 'voice.say', params: ['hello'] },
    { jsonrpc: '2.0', id: 'b', method: 'system.openapi' },
    { jsonrpc: '2.0', method: 'voice.say' },
  ];
  const codes = async (): Promise<readonly unknown[]> => {
    const alone = [await client.request('voice.say', { text: 'hello' }), await client.request('voice.say', ['hello'])];
    client.write(`${JSON.stringify(batch)}\n`);
    const answers = [...alone, ...(await client.next())].map(({ error }) => error?.data.code);
    return [...answers, alone[0].error?.data.details.retryAfterMs];
  };
  const absent = 'METHOD_NOT_FOUND';
  const later = 'UNAVAILABLE';
  assert.deepEqual(await codes(), [absent, absent, absent, undefined, undefined]);
  const hidden = core.table.add(operation('echo.hidden', async () => 1, { rpc: false }));
  for (const plugin of ['voice', 'audio', 'secrets', 'spi', 'home']) await core.tell(plugin, 'starting');
  assert.deepEqual(await codes(), [later, later, later, undefined, 1_000]);
  const { message } = (await client.request('voice.say')).error;
  assert.match(message, /^UNAVAILABLE: cannot reach voice\.say: .* are starting: voice, audio, secrets and 2 more$/);
  assert.equal((await client.request('echo.hidden')).error.data.code, absent, 'what is hidden is not to come');
  assert.deepEqual((await client.request('rpc.discover')).result['x-starting'].length, 5);
  for (const [plugin, state] of [
    ...[['voice', 'active'] as const, ['audio', 'waiting'] as const, ['secrets', 'failed'] as const],
    ...[['spi', 'stopped'] as const, ['home', 'quarantined'] as const],
  ])
    await core.tell(plugin, state);
  assert.deepEqual(await codes(), [absent, absent, absent, undefined, undefined]);
  hidden[Symbol.dispose]();
});

test('errors of operations travel with code, text and details', async () => {
  await using core = await startRpc({
    operations: [
      operation('echo.guarded', async () => 1, { capability: 'system.apps' }),
      operation('echo.broken', async () => {
        throw new Error('secret');
      }),
    ],
  });
  const client = await core.client();
  await client.ready();
  const denied = (await client.request('echo.guarded')).error;
  assert.equal(denied.code, -32003);
  assert.match(denied.message, /^CAPABILITY_DENIED: .*system\.apps/);
  assert.equal(denied.data.details.capability, 'system.apps');
  const broken = (await client.request('echo.broken')).error;
  assert.deepEqual([broken.code, broken.data.code], [-32603, 'INTERNAL']);
  assert.ok(!JSON.stringify(broken).includes('secret'));
});

test('a deadline that a request brings only shortens the limit of its operation', async () => {
  const left = operation('wait.left', async (_, { deadline }) => deadline - steadyMs(), { timeoutMs: 2_000 });
  await using core = await startRpc({ operations: [left] });
  const client = await core.client();
  await client.ready();
  for (const [deadlineMs, most] of [
    [500.5, 501],
    [1_000, 1_000],
    [60_000, 2_000],
    [1e300, 2_000],
  ] as const) {
    const { result } = await client.request('wait.left', {}, { meta: { deadlineMs } });
    assert.ok(result > 0 && result <= most, `${result} of ${deadlineMs}`);
  }
  assert.equal((await client.request('wait.left', {}, { meta: { deadlineMs: 0 } })).error.data.code, 'TIMEOUT');
  for (const deadlineMs of ['250', -1, null, true, [], {}])
    assert.equal((await client.request('wait.left', {}, { meta: { deadlineMs } })).error.data.code, 'REQUEST_INVALID');
});

test('a deadline that a request brings shortens its time', async () => {
  await using core = await startRpc({ operations: [operation('wait.forever', () => new Promise(() => undefined))] });
  const client = await core.client();
  await client.ready();
  const answer = await client.request('wait.forever', {}, { meta: { deadlineMs: 30 } });
  assert.equal(answer.error.data.code, 'TIMEOUT');
});

test('a call into an app carries its meta and settles once, with late answers of any kind', async () => {
  await using core = await startRpc();
  await assert.rejects(core.sockets.call(APP, call()), { code: 'APP_NOT_RUNNING' });
  const client = await core.client();
  await client.ready();

  const calling = core.sockets.call(APP, call());
  const request = await client.next();
  assert.equal(request.method, 'agenda.today');
  assert.deepEqual(request.params, { day: 1 });
  assert.deepEqual(request.meta, call().meta);
  assert.equal(typeof request.id, 'string');
  client.send({ jsonrpc: '2.0', id: request.id, result: { due: 3 } });
  assert.deepEqual(await calling, { due: 3 });

  const failing = core.sockets.call(APP, call());
  client.send({
    jsonrpc: '2.0',
    id: (await client.next()).id,
    error: { code: 7, message: 'no agenda', data: { a: 1 } },
  });
  await assert.rejects(failing, (error: { code: string; details: { error: object } }) => {
    assert.equal(error.code, 'APP_ERROR');
    assert.deepEqual(error.details.error, { code: 7, message: 'no agenda', data: { a: 1 } });
    return true;
  });

  const slow = assert.rejects(core.sockets.call(APP, call({}, 30)), { code: 'TIMEOUT' });
  const late = await client.next();
  await slow;
  assert.deepEqual(await client.next(), { jsonrpc: '2.0', method: 'cancel', params: { callId: 'c1' } });
  client.send({ jsonrpc: '2.0', id: late.id, result: 1 });
  client.send({ jsonrpc: '2.0', id: 'core-999', result: 1 });

  const withdrawn = new AbortController();
  const cancelled = core.sockets.call(APP, call({ signal: withdrawn.signal }));
  await client.next();
  withdrawn.abort();
  await assert.rejects(cancelled, { code: 'CANCELLED' });
  assert.equal((await client.next()).method, 'cancel');

  const lost = assert.rejects(core.sockets.call(APP, call()), { code: 'SESSION_CLOSED' });
  await client.next();
  client.socket.destroy();
  await lost;
});

test('answers to calls may come in a batch with requests of the app', async () => {
  await using core = await startRpc({ operations: [echo] });
  const client = await core.client();
  await client.ready();
  const calls = [core.sockets.call(APP, call()), core.sockets.call(APP, call())];
  const ids = [(await client.next()).id, (await client.next()).id];
  client.write(
    JSON.stringify([
      { jsonrpc: '2.0', id: ids[0], result: 1 },
      { jsonrpc: '2.0', id: ids[0], method: 'echo.say', params: { same: 'id' } },
      { jsonrpc: '2.0', id: ids[1], result: 2 },
    ]),
  );
  assert.deepEqual(await Promise.all(calls), [1, 2]);
  assert.deepEqual((await client.next())[0].result, { same: 'id' });
});

test('a notification reaches every session of an app, and stop comes before the end', async () => {
  await using core = await startRpc();
  const states: string[] = [];
  core.sockets.onSession(({ app, state }) => states.push(`${app} ${state}`));
  const clients = [await core.client(), await core.client()];
  for (const client of clients) await client.ready();
  assert.equal(await core.sockets.notify(APP, 'config.changed', { key: 'a' }), 2);
  assert.equal(await core.sockets.notify('com.example.other', 'config.changed', {}), 0);
  for (const client of clients) assert.equal((await client.next()).method, 'config.changed');
  await core.sockets.close(APP, 'an update');
  for (const client of clients) {
    assert.deepEqual((await client.next()).params, { reason: 'an update', graceMs: 500 });
    assert.equal(await client.next(), undefined);
  }
  await until(() => states.length === 4);
  assert.deepEqual(states.toSorted(), [`${APP} closed`, `${APP} closed`, `${APP} open`, `${APP} open`]);
  assert.deepEqual(readdirSync(dirname(core.path)), []);
  assert.deepEqual(await core.sockets.sessions(), []);
});

test('a peer that does not read makes notifications wait, and is cut in the end', async () => {
  await using core = await startRpc({ config: { outgoingBytes: 16_384, waiting: 8, stallMs: 200 } });
  const client = await core.client();
  await client.ready();
  client.socket.pause();
  const filler = { text: 'x'.repeat(10_000) };
  const outcomes: string[] = [];
  const sends: Promise<unknown>[] = [];
  const { promise: session, resolve } = Promise.withResolvers<{ notify(m: string, p: object): Promise<void> }>();
  core.rpc.tap('session.open', (_ready, opened) => resolve(opened));
  const quiet = await core.client();
  await quiet.ready();
  quiet.socket.pause();
  const { notify } = await session.then((one) => ({ notify: one.notify.bind(one) }));
  for (let i = 0; i < 200; i++) {
    sends.push(
      notify('event', filler).then(
        () => outcomes.push('sent'),
        (error: { code: string }) => outcomes.push(error.code),
      ),
    );
    if (i % 10 === 0) await sleep(1);
  }
  await Promise.all(sends);
  const count = (outcome: string) => outcomes.filter((one) => one === outcome).length;
  assert.ok(count('sent') > 0 && count('sent') < 100, `${count('sent')} were sent`);
  assert.ok(count('QUEUE_FULL') > 50);
  assert.equal(count('SESSION_CLOSED'), 8);
  const told: string[] = [];
  const quietly = () => undefined;
  const add = (_: string, { message = '' }: { message?: string }) => void told.push(message);
  await core.rpc.hook('health.collect').promise({ add, bridge: quietly, warn: quietly });
  assert.match(told.join(), new RegExp(`${count('QUEUE_FULL')} notifications that apps did not read`));
  assert.ok(core.rpc.logged.some(({ fields }) => /did not read/.test((fields as { reason?: string }).reason ?? '')));
  client.socket.resume();
  assert.deepEqual((await client.request('rpc.discover')).error, undefined);
});

test('a board that is busy blames no peer: the time that it took is not the time of who does not read', async () => {
  const clock = virtualClock({ turns: 3 });
  await using core = await startRpc({ clock, config: { outgoingBytes: 16_384, waiting: 8, stallMs: 30_000 } });
  const { promise: session, resolve } = Promise.withResolvers<{ notify(m: string, p: object): Promise<void> }>();
  core.rpc.tap('session.open', (_ready, opened) => resolve(opened));
  const client = await core.client();
  await client.ready();
  client.socket.pause();
  const { notify } = await session.then((one) => ({ notify: one.notify.bind(one) }));
  const filler = { text: 'x'.repeat(10_000) };
  // Until neither the socket nor who waits for it takes more.
  for (let times = 0; times < 200; times += 1) {
    void notify('event', filler).catch(() => undefined);
    if (times % 10 === 0) await sleep(1);
  }
  const cuts = () => core.rpc.logged.filter(({ fields }) => /did not read/.test(String(Reflect.get(fields, 'reason'))));
  await clock.advance(2_000);
  clock.starve(60_000);
  await clock.advance(2_000);
  assert.deepEqual(cuts(), []);
  await clock.advance(30_000);
  assert.equal(cuts().length, 1);
});

test('an app that asks without reading its answers is not read any further', async () => {
  let runs = 0;
  const big = operation('echo.big', async () => {
    runs++;
    return 'x'.repeat(10_000);
  });
  await using core = await startRpc({ operations: [big], config: { outgoingBytes: 65_536, inFlight: 32 } });
  const client = await core.client();
  await client.ready();
  client.socket.pause();
  const total = 3_000;
  for (let id = 0; id < total; id++) client.write(`{"jsonrpc":"2.0","id":${id},"method":"echo.big"}\n`);
  await pace(200); // time to take more than it may
  const soFar = runs;
  assert.ok(soFar < total, `${soFar} requests were taken`);
  client.socket.resume();
  // A border bounds what is in flight; inline nothing is refused.
  let busy = 0;
  for (let n = 0; n < total; n++) if ((await client.next())?.error?.data.code === 'BUSY') busy++;
  assert.equal(runs + busy, total);
});

test('apps.socket tells an app its own socket and the operator that of the app it names', async () => {
  await using core = await startRpc();
  const client = await core.client();
  await client.ready();
  assert.deepEqual((await client.request('apps.socket')).result, { socket: core.path });
  assert.equal((await client.request('apps.socket', { app: 'com.example.other' })).error.data.code, 'CALLER_DENIED');
  const invocation = {
    caller: { kind: 'operator', id: 'operator' } as const,
    signal: new AbortController().signal,
    deadline: Date.now() + 1_000,
  };
  assert.deepEqual(await core.table.invoke('apps.socket', { app: APP }, invocation), { socket: core.path });
  await assert.rejects(core.table.invoke('apps.socket', {}, invocation), { code: 'CALLER_DENIED' });
  await assert.rejects(core.table.invoke('stream.open', { stream: 'a.b' }, invocation), { code: 'SESSION_REQUIRED' });
});

test('nothing is left when the plugin stops, with clients that do not hang up', async () => {
  await using core = await startRpc({ config: { stopGraceMs: 50 } });
  const client = await core.client();
  await client.ready();
  await core.rpc.stop();
  assert.equal((await client.next()).method, 'stop');
  assert.equal(await client.next(), undefined);
  assert.deepEqual(core.rpc.leaks(), []);
});
