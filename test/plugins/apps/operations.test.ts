import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Caller } from '@device-core/plugin-api';
import type { AppStatus } from '@device-core/plugin-api/services/apps';
import { functions } from '@device-core/plugin-api/services/functions';
import type { BridgeHealth, ComponentHealth } from '@device-core/plugin-api/services/health';
import { type Bench, CONNECT, callAs, eventually, LONG_BACKOFF, manifestOf, putApp, startBench } from './fixture.ts';

const ID = 'com.example.demo';
const operator: Caller = { kind: 'operator', id: 'operator' };
const self: Caller = { kind: 'app', id: ID };
const other: Caller = { kind: 'app', id: 'com.example.other' };
const prepare = (installed: string) => putApp(installed, manifestOf(ID));
const run = (bench: Bench, name: string, params: object, caller: Caller) =>
  bench.operation(name).run(params, callAs(caller)) as Promise<Record<string, unknown>>;

async function health(bench: Bench): Promise<Record<string, ComponentHealth>> {
  const components: Record<string, ComponentHealth> = {};
  const unused = (_: BridgeHealth | string) => undefined;
  await bench.host.hook('health.collect').promise({
    add: (name, component) => void Object.assign(components, { [name]: component }),
    bridge: unused,
    warn: unused,
  });
  return components;
}

test('the operator starts, restarts and stops an app', async () => {
  await using bench = await startBench({ prepare });
  const states = [];
  const pids = [];
  for (const verb of ['start', 'restart', 'stop']) {
    const { app } = (await run(bench, `apps.${verb}`, { id: 'demo' }, operator)) as { app: AppStatus };
    states.push(app.state);
    pids.push(app.pid);
  }
  assert.deepEqual(states, ['running', 'running', 'stopped']);
  assert.notEqual(pids[0], pids[1]);
  for (const verb of ['start', 'stop', 'restart'])
    assert.equal(bench.operation(`apps.${verb}`).capability, 'system.apps');
});

for (const name of ['apps.status', 'apps.start', 'apps.stop', 'apps.restart'])
  test(`${name} of an app that is not there is APP_NOT_FOUND`, async () => {
    await using bench = await startBench();
    await assert.rejects(run(bench, name, { id: 'com.example.nobody' }, operator), { code: 'APP_NOT_FOUND' });
  });

test('an app sees what happened to itself, and of others only that they are there', async () => {
  const script = `console.log('my secret'); setTimeout(() => process.exit(1), 30);${CONNECT}`;
  await using bench = await startBench({
    prepare: (installed) => putApp(installed, manifestOf(ID, { lifecycle: { restart: 'never' } }), script),
  });
  await bench.apps.start(ID);
  await bench.reach(ID, 'failed');
  for (const [caller, seen] of [
    [operator, true],
    [self, true],
    [other, false],
  ] as const) {
    const { apps } = await run(bench, 'apps.list', {}, caller);
    assert.equal(JSON.stringify(apps).includes('my secret'), seen, caller.id);
    const { app } = await run(bench, 'apps.status', { id: ID }, caller);
    assert.equal('reason' in (app as object), seen, caller.id);
  }
  const { message } = (await health(bench))['app.demo'] ?? {};
  assert.match(message ?? '', /^it ended with code 1/);
  assert.doesNotMatch(message ?? '', /my secret/);
});

test("log.write goes into the app's log as one JSON line, after what the process wrote", async () => {
  await using bench = await startBench({
    prepare: (installed) => putApp(installed, manifestOf(ID), `console.log('hello');${CONNECT}`),
  });
  await bench.apps.start(ID);
  const file = join(bench.paths.var, 'log/apps/demo.log');
  await eventually(() => existsSync(file) || undefined, 'a log');
  await run(bench, 'log.write', { level: 'warn', message: 'two\nlines', fields: { level: 'forged', n: 1 } }, self);
  const [first, second] = (await readFile(file, 'utf8')).trim().split('\n');
  const { time: came, ...printed } = JSON.parse(first ?? '');
  assert.ok(Math.abs(came - Date.now()) < 600_000);
  assert.deepEqual(printed, { level: 'info', msg: 'hello' });
  const { time, ...line } = JSON.parse(second ?? '');
  assert.ok(Math.abs(time - Date.now()) < 10_000);
  assert.deepEqual(line, { level: 'warn', msg: 'two\nlines', fields: { level: 'forged', n: 1 } });
  const told = bench.host.logged.find(({ message }) => message === 'two\nlines');
  assert.deepEqual(told?.fields, { app: ID, fields: { level: 'forged', n: 1 } });
});

test("complaints about a developer's app are in the log of the Core, too, and its terminal", async () => {
  const script = `console.log('quiet'); console.error('it smells'); console.log('{"level":"error","msg":"burnt"}');${CONNECT}`;
  const parent = await mkdtemp(join(tmpdir(), 'shout-'));
  const folder = await putApp(parent, manifestOf(ID), script);
  await using bench = await startBench({
    config: { folders: [folder] },
    prepare: (to) => putApp(to, manifestOf('com.example.far'), script),
  });
  await bench.apps.start(ID);
  await bench.apps.start('com.example.far');
  const told = () =>
    bench.host.logged.filter(({ fields }) => (fields as { from?: string } | undefined)?.from !== undefined);
  await eventually(() => told().length >= 2, 'both');
  assert.deepEqual(
    told()
      .map(({ level, message, fields }) => [level, message, fields])
      .toSorted(),
    [
      ['error', 'burnt', { app: ID, from: 'stdout' }],
      ['warn', 'it smells', { app: ID, from: 'stderr' }],
    ],
  );
  await rm(parent, { recursive: true });
});

test('a crash is told by the line that matters, to all by its place alone', async () => {
  const script = `setTimeout(() => { throw new TypeError('the secret recipe') }, 50);${CONNECT}`;
  await using bench = await startBench({
    config: LONG_BACKOFF,
    prepare: (installed) => putApp(installed, manifestOf(ID), script),
  });
  await bench.apps.start(ID);
  const status = await bench.reach(ID, 'backoff');
  const line = 'it ended with code 1; it wrote: TypeError: the secret recipe (main.cjs:1)';
  assert.equal(status.reason, line);
  assert.ok(
    bench.host.logged.some(
      ({ level, message }) => level === 'warn' && message === `app ${ID} waits after a crash: ${line}`,
    ),
  );
  const event = bench.host.published.findLast(({ payload }) => (payload as AppStatus).state === 'backoff')?.payload;
  assert.equal((event as { crash?: string }).crash, 'TypeError at main.cjs:1');
  assert.ok(!JSON.stringify(event).includes('recipe'), 'what an app works with stays out of events');
  const again = await bench.reach(ID, 'running');
  assert.equal(again.lastEnd?.reason, line);
  const { apps } = (await run(bench, 'apps.list', {}, other)) as { apps: AppStatus[] };
  assert.equal(apps[0]?.lastEnd, undefined, 'nor to other apps');
});

test('log.write has a rate, and says when to come again', async () => {
  await using bench = await startBench({ prepare, config: { logRate: 2 } });
  const line = { level: 'info', message: 'x' };
  for (let i = 0; i < 4; i++) await run(bench, 'log.write', line, self);
  await assert.rejects(
    run(bench, 'log.write', line, self),
    (error: { code?: string; details?: { retryAfterMs?: number } }) => {
      assert.equal(error.code, 'RATE_LIMITED');
      assert.ok((error.details?.retryAfterMs ?? 0) > 0 && (error.details?.retryAfterMs ?? 0) <= 500);
      return true;
    },
  );
});

for (const [name, params] of [
  ['log.write', { level: 'info', message: 'x' }],
  ['health.report', { status: 'okay' }],
] as const)
  test(`${name} is for apps, and not offered over REST`, async () => {
    await using bench = await startBench({ prepare });
    await assert.rejects(run(bench, name, params, operator), { code: 'CALLER_DENIED' });
    await assert.rejects(run(bench, name, params, other), { code: 'APP_NOT_FOUND' });
    assert.equal(bench.operation(name).rest, undefined);
  });

test('fields that are too large are refused', async () => {
  await using bench = await startBench({ prepare });
  const fields = { text: 'x'.repeat(20_000) };
  await assert.rejects(run(bench, 'log.write', { level: 'info', message: 'x', fields }, self), {
    code: 'PARAMS_INVALID',
  });
});

test('the log file of an app is bounded and one old file is kept', async () => {
  const script = `for (let i = 0; i < 4000; i++) console.log(String(i).padStart(99, '.'));${CONNECT}`;
  await using bench = await startBench({
    config: { logBytes: 65536 },
    prepare: (installed) => putApp(installed, manifestOf(ID), script),
  });
  await bench.apps.start(ID);
  const file = join(bench.paths.var, 'log/apps/demo.log');
  await eventually(
    // It may be put aside at any moment.
    async () => (await readFile(file, 'utf8').catch(() => '')).includes('.3999"') || undefined,
    'the last line',
  );
  for (const name of [file, `${file}.1`]) {
    assert.ok((await stat(name)).size <= 65536);
    // Whole lines alone.
    for (const line of (await readFile(name, 'utf8')).trimEnd().split('\n'))
      assert.equal(JSON.parse(line).level, 'info');
  }
  assert.ok(!existsSync(`${file}.2`));
});

test('each app is a component of health, in the words of its state or its own', async () => {
  await using bench = await startBench({
    prepare: async (installed) => {
      await putApp(installed, manifestOf(ID));
      await putApp(installed, manifestOf('com.example.off', { lifecycle: { autostart: false } }));
      await putApp(installed, manifestOf('com.example.broken', { lifecycle: { restart: 'never' } }), 'process.exit(1)');
      await putApp(installed, manifestOf('com.example.wrong', { nonsense: 1 }));
    },
  });
  await bench.host.hook('kernel.ready').promise();
  await bench.reach(ID, 'running');
  await bench.reach('com.example.broken', 'failed');
  const before = await health(bench);
  const words = Object.entries(before).flatMap(([name, { status, code }]) =>
    name.startsWith('app.') ? [[name, status, code]] : [],
  );
  assert.deepEqual(words.toSorted(), [
    ['app.broken', 'error', 'failed'],
    ['app.com.example.wrong', 'error', 'MANIFEST_INVALID'],
    ['app.demo', 'okay', undefined],
    ['app.off', 'okay', undefined],
  ]);
  await run(bench, 'health.report', { status: 'blocked', message: 'the printer is out of paper' }, self);
  const { status, message } = (await health(bench))['app.demo'] ?? {};
  assert.deepEqual([status, message], ['blocked', 'the printer is out of paper']);
  assert.equal((await bench.status(ID)).health?.status, 'blocked');
});

test('an app that promised to report and is silent is in error', async () => {
  await using bench = await startBench({
    prepare: (installed) => putApp(installed, manifestOf(ID, { health: { kind: 'report', intervalMs: 1000 } })),
  });
  await bench.apps.start(ID);
  assert.equal((await health(bench))['app.demo']?.status, 'okay');
  const silent = await eventually(async () => {
    const component = (await health(bench))['app.demo'];
    return component?.code === 'silent' ? component : undefined;
  }, 'silence');
  assert.equal(silent.status, 'error');
  await run(bench, 'health.report', { status: 'okay' }, self);
  assert.equal((await health(bench))['app.demo']?.status, 'okay');
});

test('members of a manifest that are not in force stand in the status, as they change', async () => {
  const entry = { name: 'demo.next', version: '1.0.0' };
  await using bench = await startBench({
    prepare: (installed) => putApp(installed, manifestOf('com.example.demo', { functions: [entry] })),
  });
  const refused = {
    app: 'com.example.demo',
    ...entry,
    code: 'CAPABILITY_DENIED',
    reason: 'it does not hold sensors.nfc',
    capability: 'sensors.nfc',
    hint: 'grants: ...',
  };
  bench.refuse(refused);
  await bench.host.appear(functions, bench.functions);
  const told = [{ part: 'function demo.next', reason: refused.reason, capability: 'sensors.nfc', hint: 'grants: ...' }];
  assert.deepEqual((await bench.apps.start('demo')).leftOut, told);
  bench.refuse();
  await eventually(async () => (await bench.status('demo')).leftOut.length === 0, 'the grant is seen');
  bench.refuse(refused);
  await eventually(async () => (await bench.status('demo')).leftOut.length === 1, 'the loss is seen');
});
