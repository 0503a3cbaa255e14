/** One table of scenarios for both libraries of apps: an app in Node and one in Python do the same, and the Core sees the same. */
import assert from 'node:assert/strict';
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { after, test } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { App } from '@device-core/plugin-api/app';
import type { Operation } from '@device-core/plugin-api/services/operations';
import { leakCheck } from '@device-core/plugin-api/testing';
import { eventually } from '../fixtures/eventually.ts';
import { WITHOUT_PYTHON } from '../fixtures/python.ts';
import { APP, type Fixture, operation, startRpc } from '../plugins/rpc/fixture.ts';

after(leakCheck());

const FOLDER = join(import.meta.dirname, '../fixtures/library-apps');
const LIBRARY = join(import.meta.dirname, '../../plugin-api/app');
/** What the device spends on a call that an app does not answer. */
const DEADLINE_MS = 20_000;

interface Language {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  readonly skip: string | false;
}

const LANGUAGES: readonly Language[] = [
  { name: 'Node', command: [process.execPath, join(FOLDER, 'main.mjs')], skip: false },
  { name: 'Python', command: ['python3', join(FOLDER, 'main.py')], skip: WITHOUT_PYTHON },
];

/** The program under test, and what it said. */
class Guest implements AsyncDisposable {
  readonly said: (readonly [what: string, value: unknown])[] = [];
  readonly ended: Promise<number | null>;
  readonly #child: ChildProcessByStdio<null, Readable, null>;

  constructor([program, ...args]: Language['command'], env: Readonly<Record<string, string>>) {
    this.#child = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { ...process.env, PYTHONPATH: LIBRARY, PYTHONDONTWRITEBYTECODE: '1', ...env },
    });
    let rest = '';
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      this.said.push(...lines.map((line) => JSON.parse(line)));
    });
    this.ended = once(this.#child, 'close').then(([code]) => code as number | null);
  }

  values(what: string): readonly unknown[] {
    return this.said.filter(([one]) => one === what).map(([, value]) => value);
  }

  async heard(what: string, value: unknown): Promise<void> {
    const wanted = JSON.stringify(value);
    const told = () => this.values(what).some((one) => JSON.stringify(one) === wanted);
    await eventually(() => assert.ok(told(), `it said ${JSON.stringify(this.said)}`) ?? true, `${what} ${wanted}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended;
  }
}

interface Device {
  readonly core: Fixture;
  readonly app: Guest;
  /** Requests of the app, by operation. */
  readonly asked: Readonly<Record<string, readonly object[]>>;
  ask(name: string, inputs?: object, signal?: AbortSignal, traceparent?: string): Promise<unknown>;
}

const ANSWERS: Readonly<Record<string, Operation<never, unknown>['run']>> = {
  'echo.say': async (params: object) => params,
  'trace.told': async (_params: object, { trace }) => ({ trace: trace?.traceId }),
  'wait.forever': (_params: object, { signal }) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  'functions.register': async () => ({}),
  'events.subscribe': async () => ({}),
  'events.unsubscribe': async () => ({}),
  'events.publish': async () => ({}),
  'config.get': async () => ({ value: 'old' }),
  'config.set': async (params: object) => params,
  'health.report': async () => ({}),
};

const STREAMS = [
  {
    name: 'test.loopback',
    summary: 'sends back what comes',
    direction: 'duplex',
    params: { type: 'object' },
    async run(
      _params: never,
      channel: { incoming: AsyncIterable<Uint8Array>; send(chunk: Uint8Array): Promise<void> },
    ) {
      for await (const chunk of channel.incoming) await channel.send(chunk);
    },
  },
  {
    name: 'test.broken',
    summary: 'fails',
    direction: 'read',
    params: { type: 'object' },
    async run() {
      throw new CoreError('UNAVAILABLE', { what: 'the cable', reason: 'it is cut' });
    },
  },
] as never;

let calls = 0;

async function withDevice(
  language: Language,
  env: Readonly<Record<string, string>>,
  work: (device: Device) => Promise<void>,
): Promise<void> {
  const asked: Record<string, object[]> = {};
  const operations = Object.entries(ANSWERS).map(([name, run]) =>
    operation(name, (params, call) => {
      asked[name] = [...(asked[name] ?? []), params];
      return run(params, call);
    }),
  );
  await using core = await startRpc({ operations, streams: STREAMS });
  await using app = new Guest(language.command, { DEVICE_RPC_SOCKET: core.path, ...env });
  await app.heard('ready', APP);
  const ask = (method: string, params: object = {}, signal?: AbortSignal, traceparent?: string) => {
    const meta = { callId: `c${calls++}`, version: '1.0.0', deadlineMs: DEADLINE_MS, caller: 'operator' };
    const traced = traceparent === undefined ? meta : { ...meta, traceparent };
    return core.sockets.call(APP, { method, params, meta: traced, ...(signal ? { signal } : {}) });
  };
  await work({ core, app, asked, ask });
}

const SCENARIOS: Readonly<Record<string, (device: Device) => Promise<void>>> = {
  'calls operations, and is told the code of an error': async ({ ask }) => {
    const call = (method: string, more: object = {}) => ask('do.call', { method, ...more });
    assert.deepEqual(await call('echo.say', { params: { text: 'Grüße, 世界' } }), {
      value: { text: 'Grüße, 世界' },
    });
    assert.deepEqual(await call('no.such'), { code: 'METHOD_NOT_FOUND', rpcCode: -32601 });
    assert.deepEqual(await call('wait.forever', { timeoutMs: 50 }), { code: 'TIMEOUT', rpcCode: -32002 });
  },
  'makes what it asks for while it works on a call a part of the same trace': async ({ ask }) => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00';
    const told = await ask('do.trace', { method: 'trace.told' }, undefined, traceparent);
    assert.deepEqual(told, { trace: '4bf92f3577b34da6a3ce929d0e0e4736' });
  },
  'withdraws a call': async ({ ask }) => {
    assert.deepEqual(await ask('do.withdraw', { method: 'wait.forever' }), { code: 'CANCELLED', rpcCode: -32800 });
  },
  'is called: its results, its failures, and names that it has not': async ({ ask, asked }) => {
    const names = asked['functions.register']?.flatMap((one) =>
      (one as { functions: { name: string }[] }).functions.map(({ name }) => name),
    );
    assert.ok(names?.includes('do.add'));
    assert.deepEqual(await ask('do.add', { a: 1, b: 2 }), { sum: 3 });
    const many = await Promise.all(Array.from({ length: 50 }, (_, a) => ask('do.add', { a, b: 1 })));
    assert.deepEqual(
      many,
      many.map((_, a) => ({ sum: a + 1 })),
    );
    await assert.rejects(ask('do.fail'), { code: 'APP_ERROR', message: /it does not want to/ });
    await assert.rejects(ask('do.nothing'), { code: 'APP_ERROR', message: /there is no function do.nothing/ });
  },
  'provides a function of app.yaml by its name alone, also after a call of it has come': async ({ ask, asked }) => {
    assert.deepEqual(await ask('do.late'), { late: true });
    assert.ok(!JSON.stringify(asked['functions.register']).includes('do.late'), 'the Core has registered it');
  },
  'answers a ping, and is told that nobody waits any more, while it works': async ({ core, app, ask }) => {
    const cancel = new AbortController();
    const hanging = ask('do.hang', {}, cancel.signal);
    await app.heard('hangs', 'operator');
    const meta = { callId: 'ping', version: '1.0.0', deadlineMs: DEADLINE_MS, caller: 'core' };
    assert.deepEqual(await core.sockets.call(APP, { method: 'ping', params: {}, meta, urgent: true }), {});
    cancel.abort();
    await assert.rejects(hanging, { code: 'CANCELLED' });
    await app.heard('aborted', true);
  },
  'hears the events that a filter names, and unsubscribes what nobody hears any more': async ({
    core,
    app,
    asked,
    ask,
  }) => {
    const tables = [
      ['one', ['system.*', 'app.x.event.*']],
      ['two', ['system.presence', 'audio.**']],
    ] as const;
    for (const [as, filters] of tables) await ask('do.subscribe', { as, filters });
    const topics = [
      ...['system.presence', 'system.power.low', 'app.x.event.a.b', 'app.x.events'],
      ...['audio', 'audio.level.left', 'systemx.presence', 'system.end'],
    ];
    for (const topic of topics) await core.sockets.notify(APP, 'event', { topic, payload: {} });
    await app.heard('one', 'system.end');
    assert.deepEqual(app.values('one'), ['system.presence', 'app.x.event.a.b', 'system.end']);
    await app.heard('two', 'audio.level.left');
    assert.deepEqual(app.values('two'), ['system.presence', 'audio.level.left']);
    await ask('do.subscribe', { as: 'three', filters: ['system.*'] });
    await ask('do.unsubscribe', { as: 'one' });
    await eventually(() => asked['events.unsubscribe'] !== undefined, 'it has told what it does not hear any more');
    assert.deepEqual(asked['events.subscribe'], [
      { filters: ['system.*', 'app.x.event.*'] },
      { filters: ['system.presence', 'audio.**'] },
    ]);
    assert.deepEqual(asked['events.unsubscribe'], [{ filters: ['app.x.event.*'] }]);
  },
  'publishes, with a priority or without': async ({ ask, asked }) => {
    const topic = `app.${APP}.event.due`;
    await ask('do.publish', { topic, payload: { a: 1 } });
    await ask('do.publish', { topic, payload: {}, priority: 'high' });
    assert.deepEqual(asked['events.publish'], [
      { topic, payload: { a: 1 } },
      { topic, payload: {}, priority: 'high' },
    ]);
  },
  'reads and writes its configuration, and hears of changes': async ({ core, app, ask }) => {
    const set = { key: 'greeting', value: 'new', ifRevision: 4 };
    assert.deepEqual(await ask('do.config', { key: 'greeting', value: 'new' }), { before: 'old', set });
    const change = { key: 'greeting', value: 'newer', source: 'user', revision: 5 };
    await core.sockets.notify(APP, 'config.changed', change);
    await app.heard('changed', change);
  },
  'reports its health': async ({ ask, asked }) => {
    await ask('do.report', { status: 'okay' });
    await ask('do.report', { status: 'blocked', message: 'no paper' });
    assert.deepEqual(asked['health.report'], [{ status: 'okay' }, { status: 'blocked', message: 'no paper' }]);
  },
  'reads and writes a stream in pieces that its credit covers': async ({ ask }) => {
    for (const binary of [true, false])
      assert.deepEqual(await ask('do.loop', { size: 1_000_000, binary }), { same: true });
  },
  'is told the error with which a stream ends': async ({ ask }) => {
    const failed = { code: 'UNAVAILABLE', rpcCode: -32006 };
    assert.deepEqual(await ask('do.broken'), { reading: failed, ended: failed });
  },
  'connects again, and registers functions and filters anew': async ({ core, app, asked, ask }) => {
    if (core.rpc.isolation !== 'inline') return; // its connections are broken from inside of its thread
    await ask('do.subscribe', { as: 'one', filters: ['system.*'] });
    const registered = asked['functions.register']!.length;
    core.breakConnections();
    await eventually(() => asked['events.subscribe']!.length === 2, 'it has subscribed again');
    await eventually(() => asked['functions.register']!.length === registered + 1, 'it has registered again');
    const { functions } = asked['functions.register']!.at(-1) as { functions: readonly object[] };
    assert.equal(functions.length, registered);
    assert.deepEqual(await ask('do.add', { a: 2, b: 2 }), { sum: 4 });
    await core.sockets.notify(APP, 'event', { topic: 'system.again', payload: {} });
    await app.heard('one', 'system.again');
  },
  'is told to stop, and ends well': async ({ core, app }) => {
    await core.sockets.close(APP, 'an update');
    assert.equal(await app.ended, 0);
    assert.deepEqual(app.values('stop'), ['an update']);
    assert.deepEqual(app.values('stopped'), ['an update']);
    assert.deepEqual(app.values('afterwards'), ['SESSION_CLOSED']);
  },
};

for (const language of LANGUAGES) {
  for (const [title, work] of Object.entries(SCENARIOS))
    test(`an app in ${language.name} ${title}`, { skip: language.skip }, () => withDevice(language, {}, work));

  test(`an app in ${language.name} asks REST as itself`, { skip: language.skip }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'al-'));
    const httpSocket = join(folder, 'core.sock');
    const server = createServer(async (request, response) => {
      let body = '';
      for await (const part of request.setEncoding('utf8')) body += part;
      if (request.url === '/text') return response.end('no JSON');
      response.statusCode = request.url === '/missing' ? 404 : 200;
      response.end(JSON.stringify({ method: request.method, body }));
    }).listen(httpSocket);
    await once(server, 'listening');
    try {
      await withDevice(language, { DEVICE_HTTP_SOCKET: httpSocket }, async ({ ask }) => {
        const rest = (path: string, body?: object) => ask('do.rest', body === undefined ? { path } : { path, body });
        assert.deepEqual(await rest('/health'), { status: 200, body: { method: 'GET', body: '' } });
        assert.deepEqual(await rest('/missing'), { status: 404, body: { method: 'GET', body: '' } });
        assert.deepEqual(await rest('/text'), { status: 200, body: 'no JSON' });
        const { body } = (await rest('/x', { a: 'ü' })) as { body: { method: string; body: string } };
        assert.deepEqual([body.method, JSON.parse(body.body)], ['POST', { a: 'ü' }]);
      });
    } finally {
      server.close();
      server.closeAllConnections();
      rmSync(folder, { recursive: true });
    }
  });

  test(`an app in ${language.name} gives up without an answer`, { skip: language.skip }, async () => {
    const env = { DEVICE_RPC_SOCKET: join(tmpdir(), 'nobody-listens-here.sock'), WAIT_MS: '100' };
    await using app = new Guest(language.command, env);
    assert.equal(await app.ended, 3);
    assert.deepEqual(app.said, [['refused', 'SESSION_CLOSED']]);
  });
}

test('the library for Python has every name of the library for Node, written as Python writes names', () => {
  const text = readFileSync(join(LIBRARY, 'device_app.py'), 'utf8');
  const app = text.slice(text.indexOf('\nclass App:'));
  const python = new Set([...app.matchAll(/^ {4}def ([a-z]\w*)|^ {8}self\.([a-z]\w*) =/gm)].map(([, a, b]) => a ?? b));
  const own = new App({ rpcSocket: join(tmpdir(), 'nobody-listens-here.sock') });
  own.close();
  const node = [...Object.getOwnPropertyNames(App.prototype), ...Object.keys(own)].filter(
    (one) => one !== 'constructor',
  );
  const snake = node.map((name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
  assert.deepEqual(
    snake.filter((name) => !python.has(name)),
    [],
  );
});
