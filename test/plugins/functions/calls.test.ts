import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { CoreError, steadyMs } from '@device-core/plugin-api';
import { appSockets } from '@device-core/plugin-api/inside/services/app-sockets';
import { type FunctionCall, functions } from '@device-core/plugin-api/services/functions';
import { pace } from '../../fixtures/eventually.ts';
import { app, codeOf, OPERATOR } from '../../fixtures/operation-calls.ts';
import { agenda, type Started, start } from './start.ts';

const APP = 'com.example.agenda';
const OTHER = 'com.example.other';

const closed = () => new CoreError('SESSION_CLOSED', { app: APP, reason: 'it was killed' });

async function withFunction(entry: object = {}, grants: Record<string, readonly string[]> = {}): Promise<Started> {
  const started = await start({ grants });
  await started.host.service(functions).register({ app: APP, functions: [{ ...agenda, ...entry }] });
  return started;
}

const call = (started: Started, params: object = {}, caller = OPERATOR, options = {}) =>
  started.table.run(
    'functions.call',
    { name: 'agenda.today', inputs: { day: 'mon' }, ...params },
    { caller, ...options },
  );

suite('calling functions', () => {
  test('the app gets the name, the very inputs and the meta, and the caller gets the result', async () => {
    await using started = await withFunction();
    const session = started.sockets.join(APP, () => ({ summary: 'two things', count: 2 }));
    const inputs = { day: 'mon', limit: 3 };
    const service = started.host.service(functions);
    await service.register({ app: APP, functions: [agenda] }, session);
    const result = await service.call({ name: 'agenda.today', inputs, caller: OPERATOR });
    assert.deepEqual(result, { summary: 'two things', count: 2 });
    const [sent] = started.sockets.calls;
    assert.equal(sent?.method, 'agenda.today');
    assert.deepEqual(sent?.params, inputs);
    assert.equal(sent?.session, session);
    assert.equal(sent?.meta.version, '1.0.0');
    assert.equal(sent?.meta.caller, 'operator');
    assert.ok(sent!.meta.deadlineMs <= 5_000 && sent!.meta.deadlineMs > 4_900);
    assert.deepEqual(await call(started), { result: { summary: 'two things', count: 2 } });
    assert.notEqual(started.sockets.calls[1]?.meta.callId, sent?.meta.callId);
  });

  test('a caller needs functions.call for the app; an app may always call itself', async () => {
    await using started = await withFunction(
      {},
      { [`app.${OTHER}`]: [], 'app.com.example.friend': [`functions.call:${APP}`] },
    );
    started.sockets.join(APP, () => ({ summary: '' }));
    assert.equal(await codeOf(call(started, {}, app(OTHER))), 'CAPABILITY_DENIED');
    assert.equal(await codeOf(call(started, { app: APP, name: 'absent' }, app(OTHER))), 'CAPABILITY_DENIED');
    assert.equal(await codeOf(call(started, {}, app('com.example.friend'))), 'no error');
    assert.equal(await codeOf(call(started, {}, app(APP))), 'no error');
    assert.equal(started.sockets.calls.at(-1)?.meta.caller, `app.${APP}`);
  });

  test('a fault of a call is said before the app hears of it', async () => {
    await using started = await withFunction();
    started.sockets.join(APP, () => ({ summary: '' }));
    const cases: [object, string][] = [
      [{ name: 'absent' }, 'FUNCTION_NOT_FOUND'],
      [{ app: OTHER }, 'FUNCTION_NOT_FOUND'],
      [{ version: '^2' }, 'FUNCTION_NOT_FOUND'],
      [{ version: 'x y' }, 'PARAMS_INVALID'],
      [{ inputs: {} }, 'PARAMS_INVALID'],
      [{ inputs: { day: 5 } }, 'PARAMS_INVALID'],
      [{ inputs: { day: 'mon', limit: 1.5 } }, 'PARAMS_INVALID'],
      [{ inputs: { day: 'mon', other: 1 } }, 'PARAMS_INVALID'],
      [{ inputs: [] }, 'PARAMS_INVALID'],
    ];
    for (const [params, code] of cases) assert.equal(await codeOf(call(started, params)), code, JSON.stringify(params));
    assert.equal(started.sockets.calls.length, 0);
    const near = agenda.name.slice(0, -1);
    const suggestion = new RegExp(`^there is no function ${near}.*; did you mean ${agenda.name}\\?$`);
    for (const params of [{ name: near }, { name: near, app: APP }])
      await assert.rejects(call(started, params), { code: 'FUNCTION_NOT_FOUND', message: suggestion });
  });

  test('a name that several apps have needs the app, and the candidates are named', async () => {
    await using started = await withFunction();
    await started.host.service(functions).register({ app: OTHER, functions: [agenda] });
    started.sockets.join(OTHER, () => ({ summary: 'other' }));
    await assert.rejects(call(started), /com\.example\.agenda and com\.example\.other have one each/);
    assert.deepEqual(await call(started, { app: OTHER }), { result: { summary: 'other' } });
  });

  test('the deadline is the earlier of the timeout of the function and the deadline of the caller', async () => {
    await using started = await withFunction({ timeout_ms: 1_000 });
    started.sockets.join(APP, () => ({ summary: '' }));
    await call(started, {}, OPERATOR, { deadline: steadyMs() + 30_000 });
    await call(started, {}, OPERATOR, { deadline: steadyMs() + 200 });
    const [own, shorter] = started.sockets.calls.map((sent) => sent.meta.deadlineMs);
    assert.ok(own! > 900 && own! <= 1_000, `${own}`);
    assert.ok(shorter! > 100 && shorter! <= 200, `${shorter}`);
    assert.equal(await codeOf(call(started, {}, OPERATOR, { deadline: steadyMs() - 1 })), 'TIMEOUT');
    assert.equal(started.sockets.calls.length, 2);
  });

  test('the signal of the caller goes with the call, and the errors of the app come back', async () => {
    await using started = await withFunction();
    const abort = new AbortController();
    started.sockets.join(APP, () => {
      throw new CoreError('APP_ERROR', { app: APP, function: 'agenda.today', reason: 'no calendar' });
    });
    assert.equal(await codeOf(call(started, {}, OPERATOR, { signal: abort.signal })), 'APP_ERROR');
    started.sockets.join(APP, ({ signal }) => {
      abort.abort();
      throw signal?.reason;
    });
    assert.equal(await codeOf(call(started, {}, OPERATOR, { signal: abort.signal })), 'CANCELLED');
    assert.equal(started.sockets.calls[1]?.signal?.aborted, true);
  });

  test('a policy may refuse a call', async () => {
    await using started = await withFunction();
    started.sockets.join(APP, () => ({ summary: '' }));
    const seen: FunctionCall[] = [];
    using _ = started.host.tap('function.call', (subject) => {
      seen.push(subject);
      return subject.inputs.day === 'sun' ? new CoreError('BUSY', { what: 'a call', limit: 1 }) : undefined;
    });
    assert.equal(await codeOf(call(started)), 'no error');
    assert.equal(await codeOf(call(started, { inputs: { day: 'sun' } })), 'BUSY');
    assert.equal(started.sockets.calls.length, 1);
    // What a policy has had in its hands must not go on as the bytes that came.
    assert.notEqual(started.sockets.calls[0]?.params, seen[0]?.inputs);
    assert.deepEqual(
      { ...seen[0], deadline: 0 },
      { app: APP, name: 'agenda.today', version: '1.0.0', inputs: { day: 'mon' }, deadline: 0, caller: OPERATOR },
    );
  });

  test('without a session, and without app sockets at all, the app is not running', async () => {
    await using started = await withFunction();
    assert.equal(await codeOf(call(started)), 'APP_NOT_RUNNING');
    await started.host.disappear(appSockets);
    assert.equal(await codeOf(call(started)), 'APP_NOT_RUNNING');
  });
});

suite('an app that goes away in the middle of a call', () => {
  test('a call that is not idempotent is never repeated', async () => {
    await using started = await withFunction();
    started.sockets.join(APP, () => {
      throw closed();
    });
    await assert.rejects(
      call(started),
      /went away in the middle of agenda\.today \(it was killed\); it is not idempotent/,
    );
    assert.equal(started.sockets.calls.length, 1);
  });

  test('an idempotent one waits for the next session and is repeated once, with the same key and the rest of the time', async () => {
    await using started = await withFunction({ idempotent: true, timeout_ms: 2_000 });
    const first = started.sockets.join(APP, () => {
      started.sockets.leave(first);
      throw closed();
    });
    const answer = call(started, { idempotencyKey: 'k1' });
    await pace(60);
    started.sockets.join(APP, () => ({ summary: 'again' }));
    assert.deepEqual(await answer, { result: { summary: 'again' } });
    const [one, two] = started.sockets.calls.map((sent) => sent.meta);
    assert.deepEqual([one?.idempotencyKey, two?.idempotencyKey], ['k1', 'k1']);
    assert.ok(two!.deadlineMs < one!.deadlineMs);
    assert.deepEqual(
      started.host.leaks().filter((label) => label.startsWith('wait')),
      [],
    );
  });

  test('a key is made up where the caller brings none, and it stays the same for the repetition', async () => {
    await using started = await withFunction({ idempotent: true });
    const first = started.sockets.join(APP, () => {
      started.sockets.leave(first);
      queueMicrotask(() => started.sockets.join(APP, () => ({ summary: '' })));
      throw closed();
    });
    await call(started);
    await call(started);
    const keys = started.sockets.calls.map((sent) => sent.meta.idempotencyKey);
    assert.equal(keys[0], keys[1]);
    assert.notEqual(keys[0], keys[2]);
    assert.ok(keys[0]);
  });

  test('the news of the closed session may come late', async () => {
    await using started = await withFunction({ idempotent: true });
    const first = started.sockets.join(APP, () => {
      started.sockets.answers.set(APP, () => {
        throw new CoreError('APP_NOT_RUNNING', { app: APP, reason: 'stale' });
      });
      throw closed();
    });
    const answer = call(started);
    await pace(20);
    started.sockets.leave(first);
    started.sockets.join(APP, () => ({ summary: 'late' }));
    assert.deepEqual(await answer, { result: { summary: 'late' } });
  });

  test('a second death ends it, so does the deadline, and so does a caller that leaves', async () => {
    await using started = await withFunction({ idempotent: true, timeout_ms: 150 });
    started.sockets.join(APP, () => {
      throw closed();
    });
    assert.equal(await codeOf(call(started)), 'APP_NOT_RUNNING');
    assert.equal(started.sockets.calls.length, 2);

    const leaving = (session: () => string) => () => {
      started.sockets.leave(session());
      throw closed();
    };
    const last: { id: string } = { id: '' };
    for (const session of await started.sockets.sessions()) started.sockets.leave(session.id);
    last.id = started.sockets.join(
      APP,
      leaving(() => last.id),
    );
    assert.equal(await codeOf(call(started)), 'TIMEOUT');

    last.id = started.sockets.join(
      APP,
      leaving(() => last.id),
    );
    const abort = new AbortController();
    const answer = codeOf(call(started, {}, OPERATOR, { signal: abort.signal }));
    void pace(20).then(() => abort.abort());
    assert.equal(await answer, 'CANCELLED');
    assert.deepEqual(
      started.host.leaks().filter((label) => label.startsWith('wait')),
      [],
    );
  });
});
