/** The specification's flow "App startup and registration" with real processes, and what happens when they die in the middle. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type AppStatus, apps } from '@device-core/plugin-api/services/apps';
import { type FunctionRequest, functions } from '@device-core/plugin-api/services/functions';
import { type Core, startCore } from '../fixtures/core.ts';
import { eventually as until } from '../fixtures/eventually.ts';
import { pidInside } from '../fixtures/walls.ts';

const ID = 'com.example.startup';
const PLUGINS = [
  'operations',
  'identity',
  'system',
  'http',
  'limits',
  'rpc',
  'events',
  'functions',
  'config',
  'supervisor-process',
  'apps',
];
let core: Core;

before(async () => {
  core = await startCore({
    plugins: Object.fromEntries(PLUGINS.map((id) => [id, '^1.0.0'])),
    config: {
      apps: {
        folders: ['test/fixtures/apps/startup'],
        crash: { backoffMs: [50], limit: 100 },
        ping: { everyMs: 200, limitMs: 1_000, misses: 3 },
      },
    },
    grants: { [ID]: ['bridges.spi:flash'] },
  });
  assert.equal((await core.kernel.status()).state, 'ok');
});
after(() => core?.stop());

interface Flow {
  readonly token: string;
  readonly path: { readonly status: number; readonly body: unknown };
  readonly withoutToken: { readonly status: number; readonly body: unknown };
  readonly registered: {
    readonly status: number;
    readonly body: { readonly ok: boolean; readonly functions: readonly object[] };
  };
  readonly ready: {
    readonly app: string;
    readonly capabilities: readonly string[];
    readonly subscriptions: readonly object[];
  };
}

const kept = (name: string) => join(core.paths.var, 'apps', ID, 'data', name);
const flow = (): Flow => JSON.parse(readFileSync(kept('flow'), 'utf8'));
const call = (name: string, more: Partial<FunctionRequest> = {}) =>
  core.service(functions).call({ app: ID, name, caller: { kind: 'operator', id: 'operator' }, ...more });
const rest = (method: string, path: string, token: string | undefined, body?: object) =>
  new Promise<{ readonly status: number | undefined; readonly body: Record<string, unknown> }>((resolve, reject) => {
    const headers = {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body ? { 'content-type': 'application/json' } : {}),
    };
    // A stop cuts connections, and one that was kept may be taken before that is seen.
    const options = { socketPath: join(core.paths.run, 'core.sock'), method, path, headers, agent: false } as const;
    const sent = request(options, (answer) => {
      let text = '';
      answer.on('data', (chunk) => {
        text += chunk;
      });
      answer.on('end', () => resolve({ status: answer.statusCode, body: JSON.parse(text) }));
    });
    sent.on('error', reject);
    sent.end(body && JSON.stringify(body));
  });

const file = (name: string) => until(() => existsSync(kept(name)) || undefined, name);
const running = (not?: number): Promise<AppStatus> =>
  until(async () => {
    const status = await core.service(apps).status(ID);
    return status.state === 'running' && status.pid !== not ? status : undefined;
  }, 'the running app');

/** The app notes its token a moment after it has come back. */
const validToken = (): Promise<string> =>
  until(async () => {
    const { token } = flow();
    return (await rest('GET', '/apps', token)).status === 200 ? token : undefined;
  }, 'a token that is valid');

test('socket path 200, registration 201, READY with capabilities and subscriptions', async () => {
  const status = await running();
  await file('flow');
  const { path, withoutToken, registered, ready } = flow();
  const socket = join(core.paths.run, 'apps/startup/rpc.sock');
  assert.deepEqual(path, { status: 200, body: { socket } });
  assert.deepEqual(withoutToken, path, 'a process of the app is known by its peer credentials, too');
  assert.equal(registered.status, 201);
  assert.equal(registered.body.functions.length, 4);
  assert.equal(ready.app, ID);
  assert.deepEqual(ready.capabilities.toSorted(), [
    'bridges.spi:flash',
    'display.notify',
    `functions.call:${ID}`,
    'storage-scoped',
  ]);
  assert.deepEqual(ready.subscriptions, [
    { filter: 'system.presence', accepted: true },
    { filter: `app.${ID}.event.*`, accepted: true },
  ]);
  assert.deepEqual(await call('startup.who'), { pid: pidInside(status.pid) });
});

test('a caller may write the name of an app for its id, wherever an app is asked for', async () => {
  await running();
  await file('flow');
  const asked: readonly (readonly [string, string, object?])[] = [
    ['GET', '/config?app=NAME'],
    ['GET', '/config/greeting?app=NAME'],
    ['GET', '/functions?app=NAME'],
    ['GET', '/functions/startup.who?app=NAME'],
    ['POST', '/functions/call', { name: 'startup.who', app: 'NAME' }],
    ['GET', '/getDeviceSocketPath?app=NAME'],
    ['GET', '/apps/NAME'],
  ];
  const ask = async (name: string) => {
    const answers: unknown[] = [];
    for (const [method, path, body] of asked) {
      const sent = body && JSON.parse(JSON.stringify(body).replace('NAME', name));
      const answer = await rest(method, path.replace('NAME', name), undefined, sent);
      answers.push([path, answer.status, answer.body]);
    }
    return answers;
  };
  const set = await rest('PUT', '/config/greeting', undefined, { value: 'hello', app: 'startup' });
  assert.deepEqual([set.status, set.body.source], [200, 'app'], JSON.stringify(set.body));
  const byId = await ask(ID);
  assert.deepEqual(
    byId.map((answer) => (answer as unknown[])[1]),
    asked.map(() => 200),
    JSON.stringify(byId),
  );
  assert.deepEqual(await ask('startup'), byId);
});

test('an app that hangs is found by ping, ended and started again, and the reason is kept', async () => {
  const { pid } = await running();
  process.kill(pid ?? 0, 'SIGSTOP');
  const again = await running(pid);
  assert.match(again.lastEnd?.reason ?? '', /^it hangs: 3 pings in a row had no answer/);
  assert.equal(existsSync(`/proc/${pid}`), false);
});

test('kill -9 in mid-call: the caller gets an error with a code in time, and the app is back', async () => {
  const { pid } = await running();
  const before = Date.now();
  const refused = assert.rejects(call('startup.hang'), (error: { code?: string }) => {
    assert.ok(['SESSION_CLOSED', 'APP_NOT_RUNNING'].includes(error.code ?? ''), error.code);
    return true;
  });
  await file('startup.hang');
  const inside = pidInside(pid);
  process.kill(pid ?? 0, 'SIGKILL');
  await refused;
  assert.ok(Date.now() - before < 10_000);
  const again = await running(pid);
  assert.deepEqual(await until(() => call('startup.who').catch(() => undefined), 'an answer'), {
    pid: pidInside(again.pid),
  });
  assert.equal(
    JSON.parse(readFileSync(kept('startup.hang'), 'utf8')),
    inside,
    'a call that is not idempotent is never repeated',
  );
});

test('kill -9 in mid-call of an idempotent function: the call is repeated once and answered by the next process', async () => {
  const { pid } = await running();
  const answer = call('startup.again');
  await file('startup.again');
  process.kill(pid ?? 0, 'SIGKILL');
  const result = await answer;
  const again = await running(pid);
  assert.deepEqual(result, { pid: pidInside(again.pid) });
});

test('a call that is idempotent is repeated once, not for ever', async () => {
  const { pid } = await running();
  const refused = assert.rejects(call('startup.always'));
  await file('startup.always');
  process.kill(pid ?? 0, 'SIGKILL');
  await file('startup.always.second');
  const second = await running(pid);
  process.kill(second.pid ?? 0, 'SIGKILL');
  await refused;
  await running(second.pid);
});

test('an app may not act in the name of another, nor administer the device', async () => {
  await running();
  const token = await validToken();
  const entry = { name: 'other.f', version: '1.0.0' };
  const registration = { app: 'com.example.other', functions: [entry] };
  const other = await rest('POST', '/FunctionRegistry-registerFunction', token, registration);
  assert.equal(other.status, 403);
  assert.equal(other.body.ok, false);
  for (const path of [`/apps/${ID}/stop`, `/apps/${ID}/restart`]) {
    const { status, body } = await rest('POST', path, token, {});
    assert.deepEqual([status, body.code], [403, 'CAPABILITY_DENIED'], path);
  }
  assert.equal((await core.service(apps).status(ID)).state, 'running');
});

test('the token of a stopped app is refused, and a new start makes a new one', async () => {
  await running();
  const token = await validToken();
  assert.equal((await rest('GET', '/apps', token)).status, 200);
  await core.service(apps).stop(ID);
  const { status, body } = await rest('GET', '/apps', token);
  assert.deepEqual([status, body.code], [401, 'UNAUTHENTICATED']);
  assert.match(String(body.error), /the app has stopped/);
  await core.service(apps).start(ID);
  assert.equal((await rest('GET', '/apps', token)).status, 401);
  const fresh = await until(() => (flow().token === token ? undefined : flow().token), 'the new token');
  assert.equal((await rest('GET', '/apps', fresh)).status, 200);
});

test('a restart of the plugins below stops and starts the app cleanly', async () => {
  const { pid } = await running();
  await core.kernel.restart('identity');
  const again = await running(pid);
  assert.ok(!existsSync(`/proc/${pid}`));
  await until(
    async () => ((await call('startup.who').catch(() => ({ pid: 0 }))).pid === pidInside(again.pid) ? true : undefined),
    'an answer',
  );
});
