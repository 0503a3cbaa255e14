/** One trace from the one who asks to the last app that works for it, over REST, RPC and the borders of plugins. */
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { Isolation } from '@device-core/plugin-api';
import { appSockets } from '@device-core/plugin-api/inside/services/app-sockets';
import { grants } from '@device-core/plugin-api/inside/services/grants';
import { operations } from '@device-core/plugin-api/services/operations';
import { leakCheck } from '@device-core/plugin-api/testing';
import { stringify } from 'yaml';
import { type Core, startCore } from '../../fixtures/core.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { type Message, RawClient } from '../rpc/fixture.ts';

after(leakCheck());

const T = '4bf92f3577b34da6a3ce929d0e0e4736';
const S = '00f067aa0ba902b7';
const SAMPLED = `00-${T}-${S}-01`;
const RELAY = join(import.meta.dirname, '../../fixtures/plugins/relay/index.ts');
const ONE = 'com.example.one';
const TWO = 'com.example.two';
const BASE = { operations: '^1.0.0', rpc: '^1.0.0', functions: '^1.0.0' };
const OPERATOR = { kind: 'operator', id: 'operator' } as const;

interface Shown {
  readonly id: string;
  readonly spans: readonly {
    readonly name: string;
    readonly tree: string;
    readonly parent?: string;
    readonly attributes?: Readonly<Record<string, unknown>>;
    readonly link?: { readonly traceId: string };
  }[];
}

interface House extends AsyncDisposable {
  readonly core: Core;
  app(id: string): Promise<RawClient>;
  /** Lines of the log, as far as they are of a trace. */
  lines(): readonly { readonly trace: string; readonly msg: string; readonly plugin: string }[];
  trace(id: string): Promise<Shown>;
}

async function house(plugins: Readonly<Record<string, string | object>>, relay?: Isolation): Promise<House> {
  const root = mkdtempSync(join(tmpdir(), 'dc-'));
  const lines: Record<string, string | object> = { ...BASE, ...plugins };
  if (relay) {
    const path = join(root, 'plugins/relay');
    mkdirSync(path, { recursive: true });
    cpSync(RELAY, join(path, 'index.ts'));
    const manifest = {
      id: 'relay',
      version: '1.0.0',
      summary: 'A relay',
      api: '^1.0.0',
      main: 'index.ts',
      requires: { operations: '^1.0.0', functions: '^1.0.0' },
    };
    writeFileSync(join(path, 'plugin.yaml'), stringify(manifest));
    lines.relay = { version: '^1.0.0', path, isolation: relay };
  }
  const core = await startCore({ root, plugins: lines as never });
  const clients: RawClient[] = [];
  return {
    core,
    async app(id) {
      await core.service(grants).set({ kind: 'app', id }, [`functions.call:${ONE}`, `functions.call:${TWO}`]);
      const { path } = await core.service(appSockets).open({ id, name: id.split('.').at(-1)! });
      const client = await RawClient.connect(path);
      clients.push(client);
      await client.ready();
      return client;
    },
    lines: () =>
      readFileSync(join(core.paths.var, 'log/core.log'), 'utf8')
        .split('\n')
        .filter((line) => line.includes('"trace":'))
        .map((line) => JSON.parse(line)),
    trace: (id) => ask(core, 'traces.get', { id }) as Promise<Shown>,
    async [Symbol.asyncDispose]() {
      for (const client of clients) client.socket.destroy();
      await core.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

function ask(core: Core, name: string, params: object): Promise<unknown> {
  const call = { caller: OPERATOR, signal: new AbortController().signal, deadline: Date.now() + 10_000 };
  return core.service(operations).invoke(name, params, call);
}

const offer = (client: RawClient, app: string, name: string) =>
  client.request('functions.register', { app, functions: [{ name, version: '1.0.0' }] });
const called = (client: RawClient, name: string): Promise<Message> => client.find(({ method }) => method === name);
const done = ({ id }: Message) => ({ jsonrpc: '2.0', id, result: {} });
const failed = ({ id }: Message) => ({ jsonrpc: '2.0', id, error: { code: -1, message: 'no' } });

describe('a chain from app to app', () => {
  it('is one trace: what an app was given it hands back with its own requests', async () => {
    await using home = await house({ traces: '^1.0.0' });
    const [asking, one, two] = [await home.app('com.example.asking'), await home.app(ONE), await home.app(TWO)];
    await offer(one, ONE, 'first');
    await offer(two, TWO, 'second');
    const answer = asking.request('functions.call', { name: 'first' });
    const first = await called(one, 'first');
    const { traceparent } = first.meta;
    assert.match(traceparent, /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
    const inner = one.request('functions.call', { name: 'second' }, { meta: { traceparent } });
    const second = await called(two, 'second');
    assert.equal(second.meta.traceparent.slice(3, 35), traceparent.slice(3, 35));
    assert.notEqual(second.meta.traceparent, traceparent);
    two.send(failed(second));
    assert.equal((await inner).error.data.code, 'APP_ERROR');
    one.send(done(first));
    await answer;
    const trace = await home.trace(traceparent.slice(3, 35));
    assert.deepEqual(
      trace.spans.map(({ tree }) => tree),
      ['operation functions.call', '└─ function first', '   └─ operation functions.call', '      └─ function second'],
    );
  });

  it('ends with the call: what an app hands back later, or made up, is a link', async () => {
    await using home = await house({ traces: '^1.0.0' });
    const [asking, one] = [await home.app('com.example.asking'), await home.app(ONE)];
    await offer(one, ONE, 'first');
    const answer = asking.request('functions.call', { name: 'first' }, { meta: { traceparent: SAMPLED } });
    const first = await called(one, 'first');
    const { traceparent } = first.meta;
    assert.notEqual(traceparent.slice(3, 35), T);
    assert.ok(traceparent.endsWith('-00'), 'an app cannot have itself recorded');
    one.send(done(first));
    await answer;
    const late = await one.request('functions.call', { name: 'none' }, { meta: { traceparent } });
    assert.equal(late.error.data.code, 'FUNCTION_NOT_FOUND');
    const [span] = (await home.trace('last')).spans;
    assert.equal(span?.link?.traceId, traceparent.slice(3, 35));
    assert.equal(span?.parent, undefined);
  });

  it('works with clients that know nothing of it, and those that send nonsense', async () => {
    await using home = await house({ traces: '^1.0.0' });
    const [asking, one] = [await home.app('com.example.asking'), await home.app(ONE)];
    await offer(one, ONE, 'first');
    const odd = [undefined, null, {}, { traceparent: 5 }, { traceparent: 'x' }, { traceparent: SAMPLED.toUpperCase() }];
    for (const meta of odd) {
      const answer = asking.request('functions.call', { name: 'first' }, meta === undefined ? {} : { meta });
      one.send(done(await called(one, 'first')));
      assert.deepEqual((await answer).result, { result: {} });
    }
    await assert.rejects(home.trace('last'), { code: 'TRACE_NOT_FOUND' });
  });

  it('shows an app no difference while traces are not kept and none was named', async () => {
    await using home = await house({});
    const [asking, one] = [await home.app('com.example.asking'), await home.app(ONE)];
    await offer(one, ONE, 'first');
    const answer = asking.request('functions.call', { name: 'first' }, { meta: { traceparent: SAMPLED } });
    const first = await called(one, 'first');
    assert.deepEqual(Object.keys(first.meta), ['callId', 'version', 'deadlineMs', 'caller']);
    one.send(done(first));
    await answer;
    await assert.rejects(home.trace('last'), { code: 'METHOD_NOT_FOUND' });
  });
});

describe('a traceparent over REST', () => {
  const HTTP = { identity: '^1.0.0', http: '^1.0.0', 'supervisor-process': '^1.0.0' };
  const get = (core: Core, path: string, headers: Record<string, string | string[]>, token?: string) =>
    new Promise<number>((resolve, reject) => {
      const socketPath = join(core.paths.run, 'core.sock');
      const all = { ...headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) };
      const sent = request({ socketPath, path, agent: false, headers: all }, (answer) => {
        answer.resume();
        answer.on('end', () => resolve(answer.statusCode!));
      });
      sent.on('error', reject);
      sent.end();
    });

  it("of the operator's is the parent, and its flag records the trace", async () => {
    await using home = await house({ ...HTTP, traces: '^1.0.0' });
    assert.equal(await get(home.core, '/functions', { traceparent: SAMPLED }), 200);
    const trace = await eventually(() => home.trace(T).catch(() => undefined), 'the trace');
    assert.deepEqual(
      trace!.spans.map(({ name, parent }) => [name, parent]),
      [['operation functions.list', S]],
    );
    const other = SAMPLED.replace('4bf9', 'aaaa').replace(/01$/, '00');
    assert.equal(await get(home.core, '/functions', { traceparent: other }), 200);
    await assert.rejects(home.trace(other.slice(3, 35)), { code: 'TRACE_NOT_FOUND' });
    assert.equal(await get(home.core, '/functions/no.such', { traceparent: other }), 404);
    assert.equal((await home.trace('last')).id, other.slice(3, 35));
  });

  it('that is none changes nothing', async () => {
    await using home = await house({ ...HTTP, traces: '^1.0.0' });
    const zero = SAMPLED.replace(T, '0'.repeat(32));
    for (const bad of ['', 'x', zero, SAMPLED.toUpperCase(), `${SAMPLED}-more`, Array(10).fill(SAMPLED)])
      assert.equal(await get(home.core, '/functions', { traceparent: bad }), 200);
    await assert.rejects(home.trace('last'), { code: 'TRACE_NOT_FOUND' });
    assert.equal(
      await get(home.core, '/functions', { traceparent: SAMPLED.replace(/^00/, 'cc').concat('-more') }),
      200,
    );
    assert.equal((await home.trace('last')).id, T);
  });
});

describe('a turn of the voice', () => {
  it('is one trace, with the function that it calls and what that app asks for', async () => {
    await using home = await house({ traces: '^1.0.0', intent: '^1.0.0', voice: '^1.0.0' });
    const held = home.core.service(grants);
    const [one, two] = [await home.app(ONE), await home.app(TWO)];
    await held.set({ kind: 'app', id: ONE }, [`functions.call:${TWO}`, 'audio.intent']);
    await held.set({ kind: 'plugin', id: 'intent' }, [`functions.call:${ONE}`]);
    const entry = { name: 'first', version: '1.0.0', utterances: ['count the sheep'] };
    assert.equal((await one.request('functions.register', { app: ONE, functions: [entry] })).error, undefined);
    await offer(two, TWO, 'second');
    await eventually(
      async () => JSON.stringify(await ask(home.core, 'intents.list', {})).includes('sheep'),
      'the sentence',
    );
    const turn = ask(home.core, 'voice.ask', { text: 'count the sheep' });
    const first = await called(one, 'first');
    const { traceparent } = first.meta;
    const inner = one.request('functions.call', { name: 'second' }, { meta: { traceparent } });
    two.send(done(await called(two, 'second')));
    await inner;
    one.send(done(first));
    const told = (await turn) as { readonly turn: string; readonly outcome: string; readonly trace: string };
    assert.equal(told.outcome, 'answered');
    assert.equal(told.trace, traceparent.slice(3, 35));
    const { spans } = await home.trace(told.trace);
    assert.deepEqual(
      spans.map(({ tree }) => tree),
      [
        'operation voice.ask',
        '└─ voice.turn',
        '   ├─ intent',
        '   └─ call',
        '      └─ function first',
        '         └─ operation functions.call',
        '            └─ function second',
      ],
    );
    assert.equal(spans[1]?.attributes?.turn, told.turn);
    assert.ok(!JSON.stringify(spans).includes('sheep'), 'what was said is not told');
  });
});

for (const isolation of ['inline', 'worker', 'process'] as const)
  describe(`a plugin (${isolation})`, () => {
    it('hands its trace on, and its log lines name it', async () => {
      await using home = await house({ traces: '^1.0.0' }, isolation);
      const one = await home.app(ONE);
      await offer(one, ONE, 'first');
      await home.core.service(grants).set({ kind: 'plugin', id: 'relay' }, [`functions.call:${ONE}`]);
      const answer = ask(home.core, 'relay.call', { name: 'first' }) as Promise<{ readonly trace: string }>;
      const first = await called(one, 'first');
      one.send(failed(first));
      await assert.rejects(answer, { code: 'APP_ERROR' });
      const id = first.meta.traceparent.slice(3, 35);
      const { spans } = await home.trace(id);
      assert.deepEqual(
        spans.map(({ tree }) => tree),
        ['operation relay.call', '└─ function first'],
      );
      const [line] = await eventually(() => (home.lines().length > 0 ? home.lines() : undefined), 'a line');
      assert.deepEqual(
        [line?.msg, line?.plugin, line?.trace],
        ['relayed', isolation === 'inline' ? 'operations' : 'relay', id.slice(-8)],
      );
    });

    it('sees a trace that the operator named although traces are not kept', async () => {
      await using home = await house({}, isolation);
      const trace = { traceId: T, spanId: S, sampled: true, remote: 'parent' } as const;
      const call = { caller: OPERATOR, signal: new AbortController().signal, deadline: Date.now() + 10_000, trace };
      await assert.rejects(home.core.service(operations).invoke('relay.call', {}, call), { code: 'BUSY' });
      const [line] = await eventually(() => (home.lines().length > 0 ? home.lines() : undefined), 'a line');
      assert.equal(line?.trace, T.slice(-8));
    });
  });
