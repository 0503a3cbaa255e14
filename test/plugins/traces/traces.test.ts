/** The plugin: what is kept, within which bounds, and what is told of it, at every level of isolation. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { secretScan } from '@device-core/plugin-api/inside/services/secret-scan';
import { operations } from '@device-core/plugin-api/services/operations';
import { createTestHost, leakCheck, TestOperations } from '@device-core/plugin-api/testing';
import { beginTrace, type Span, traces } from '@device-core/plugin-api/tracing';
import { plugin } from '../../../plugins/state/traces/index.ts';

after(leakCheck());

const manifest = join(import.meta.dirname, '../../../manifests/plugins/state/traces.yaml');

interface Shown {
  readonly id: string;
  readonly why: string;
  readonly name: string;
  readonly ms: number;
  readonly error?: string;
  readonly left?: number;
  readonly spans: readonly {
    readonly name: string;
    readonly tree: string;
    readonly start: number;
    readonly ms: number;
    readonly attributes?: Readonly<Record<string, unknown>>;
    readonly link?: { readonly traceId: string };
  }[];
}
interface List {
  readonly traces: readonly (Omit<Shown, 'spans'> & { readonly spans: number })[];
  readonly dropped: Readonly<Record<string, number>>;
}

async function start(config: object = {}) {
  const table = new TestOperations();
  const host = await createTestHost(plugin, { manifest, config, services: [[operations, table]] });
  return {
    host,
    service: host.service(traces),
    list: (params: object = {}) => table.run('traces.list', params) as unknown as Promise<List>,
    get: (id: string) => table.run('traces.get', { id }) as unknown as Promise<Shown>,
    [Symbol.asyncDispose]: () => host.stop(),
  };
}

const span = (parts: Partial<Span> = {}): Span => ({
  ...beginTrace(undefined),
  root: true,
  name: 'operation test.one',
  began: 1_000,
  ms: 1,
  ...parts,
});
const FAILED = { error: 'TIMEOUT' };

describe('a text of a secret', () => {
  const SECRET = 'correct horse battery';
  const long = `${'x'.repeat(250)}${SECRET}`;
  const attributes = { note: `it is ${SECRET}`, long, [SECRET]: 'a key', count: 7 };
  const told = span({ name: `function ${SECRET}`, ...FAILED, attributes });

  it('is taken out of names and attributes before they are cut', async () => {
    await using one = await start();
    const hide = async (all: readonly string[]) => all.map((text) => text.replaceAll(SECRET, '[secret a]'));
    await one.host.appear(secretScan, { hide });
    await one.service.record([told]);
    const { spans } = await one.get(told.traceId);
    assert.equal(spans[0]!.name, 'function [secret a]');
    assert.equal(spans[0]!.attributes?.note, 'it is [secret a]');
    assert.equal(spans[0]!.attributes?.count, 7);
    assert.doesNotMatch(JSON.stringify(spans), /correct|corre/);
  });

  it('is withheld with all other texts where it cannot be looked for', async () => {
    await using one = await start();
    await one.host.appear(secretScan, { hide: () => Promise.reject(new Error('no')) });
    await one.service.record([told]);
    const { spans } = await one.get(told.traceId);
    assert.equal(spans[0]!.name, 'withheld');
    assert.doesNotMatch(JSON.stringify(spans), /corre/);
    assert.equal(spans[0]!.ms, 1);
  });
});

describe('the traces that are kept', () => {
  it('are those that failed, were slow by the rule of their name, or are sampled', async () => {
    await using one = await start({ slowMs: { 'operation ': 100, 'operation long.': 5_000 } });
    await one.service.record([
      span({ name: 'operation a.quick', ms: 99 }),
      span({ name: 'operation a.slow', ms: 100 }),
      span({ name: 'operation long.work', ms: 4_000 }),
      span({ name: 'operation long.worse', ms: 6_000 }),
      span({ name: 'operation a.stream', ms: 99_000, lasting: true }),
      span({ name: 'operation a.sampled', sampled: true }),
      span({ name: 'operation a.mistake', error: 'PARAMS_INVALID' }),
      span({ name: 'operation a.failed', ...FAILED }),
    ]);
    const { traces: kept } = await one.list();
    assert.deepEqual(
      kept.map(({ name, why }) => `${name.slice(10)} ${why}`),
      ['a.failed failed', 'a.sampled sampled', 'long.worse slow', 'a.slow slow'],
    );
    const [failed] = (await one.list({ why: 'failed' })).traces;
    assert.equal(failed?.error, 'TIMEOUT');
    assert.equal((await one.list({ name: 'worse' })).traces.length, 1);
    assert.equal((await one.list({ limit: 2 })).traces.length, 2);
  });

  it('are those of names that are always kept', async () => {
    await using one = await start({ always: ['operation a.'] });
    await one.service.record([span({ name: 'operation a.b' }), span({ name: 'operation b.a' })]);
    assert.deepEqual(
      (await one.list()).traces.map(({ name, why }) => [name, why]),
      [['operation a.b', 'sampled']],
    );
  });

  it('are shown as a tree, for any order of their spans', async () => {
    await using one = await start();
    const root = span({ name: 'operation functions.call', began: 1_000, ms: 50 });
    const inner = (parts: Partial<Span>) => ({ ...span(parts), traceId: root.traceId, root: false, ...parts }) as Span;
    const call = inner({ name: 'function a', parent: root.spanId, began: 1_005, ms: 40.26 });
    const deep = inner({ name: 'operation b', parent: call.spanId, began: 1_010, ms: 5, ...FAILED });
    const late = inner({ name: 'operation c', parent: call.spanId, began: 1_020, ms: 7 });
    const stray = inner({ name: 'stray', parent: 'ffffffffffffffff', began: 1_030, ms: 1 });
    await one.service.record([deep, stray, late, call]);
    await one.service.record([root]);
    const trace = await one.get('last');
    assert.deepEqual(
      trace.spans.map(({ tree, start: at, ms }) => `${tree} ${at} ${ms}`),
      [
        'operation functions.call 0 50',
        '└─ function a 5 40.3',
        '   ├─ operation b 10 5',
        '   └─ operation c 20 7',
        'stray 30 1',
      ],
    );
    assert.equal(trace.ms, 50);
    assert.equal(trace.error, 'TIMEOUT');
    assert.equal((await one.get(root.traceId)).id, root.traceId);
    assert.equal((await one.get(root.traceId.slice(-8))).id, root.traceId);
  });

  it('are not those of work that was quick and well: nothing of it stays', async () => {
    await using one = await start();
    const root = span();
    const inner = { ...span({ name: 'function a', parent: root.spanId }), traceId: root.traceId, root: false };
    await one.service.record([inner, root]);
    assert.deepEqual(await one.list(), {
      traces: [],
      dropped: { traces: 0, spans: 0, waiting: 0, invalid: 0, lost: 0 },
    });
    await assert.rejects(one.get('last'), {
      code: 'TRACE_NOT_FOUND',
      message:
        /none is kept, for no work was slow \(traces\.slowMs\) or failed since the plugin started; traces\.sample: 1/,
    });
    await assert.rejects(one.get(root.traceId), { code: 'TRACE_NOT_FOUND' });
    for (const id of ['', 'LAST', '../x', 'ABCDEF01', 'abcdef0', 'f'.repeat(33)])
      await assert.rejects(one.get(id), { code: 'PARAMS_INVALID' }, id);
  });

  it('have no room for queries of traces', async () => {
    await using one = await start();
    await one.service.record([span({ name: 'operation traces.get', error: 'TRACE_NOT_FOUND' })]);
    assert.equal((await one.list()).traces.length, 0);
  });

  it('stand in a circle of parents once each', async () => {
    await using one = await start();
    const a = span({ ...FAILED, name: 'a' });
    const b = { ...span({ name: 'b' }), traceId: a.traceId, parent: a.spanId };
    const self = { ...span({ name: 'self' }), traceId: a.traceId };
    await one.service.record([{ ...a, parent: b.spanId }, b, { ...self, parent: self.spanId }]);
    const { spans } = await one.get('last');
    assert.deepEqual(spans.map(({ name }) => name).sort(), ['a', 'b', 'self']);
  });
});

describe('a trace', () => {
  it('is found by either end of its id, and a mistake of the caller is kept where a traceparent named it', async () => {
    await using one = await start();
    const asked = span({ error: 'PARAMS_INVALID', parent: '00f067aa0ba902b7' });
    await one.service.record([asked, span({ error: 'PARAMS_INVALID' })]);
    assert.equal((await one.list()).traces.length, 1);
    for (const id of [asked.traceId.slice(0, 8), asked.traceId.slice(-8)])
      assert.equal((await one.get(id)).id, asked.traceId);
  });
});

describe('the bounds', () => {
  it('hold for the number of traces: the oldest makes room, and is counted and told', async () => {
    await using one = await start({ traces: 10 });
    await one.service.record(Array.from({ length: 25 }, (_, n) => span({ name: `operation n.${n}`, ...FAILED })));
    const { traces: kept, dropped } = await one.list({ limit: 1000 });
    assert.equal(kept.length, 10);
    assert.equal(kept[0]?.name, 'operation n.24');
    assert.equal(dropped.traces, 15);
    const told: string[] = [];
    const report = {
      add: (_: string, { message = '' }: { message?: string }) => void told.push(message),
      warn: () => undefined,
    };
    await one.host.hook('health.collect').promise(report as never);
    assert.ok(
      told.some((message) => message.startsWith('10 kept; 15 made room')),
      told.join('; '),
    );
  });

  it('hold for bytes', async () => {
    await using one = await start({ bytes: 16_384 });
    const attributes = Object.fromEntries(Array.from({ length: 16 }, (_, n) => [`k${n}`, 'x'.repeat(200)]));
    await one.service.record(
      Array.from({ length: 20 }, (_, n) => span({ name: `operation n.${n}`, attributes, ...FAILED })),
    );
    const { traces: kept, dropped } = await one.list({ limit: 1000 });
    assert.ok(kept.length >= 4 && kept.length <= 8, `${kept.length} traces of 2.5 KB`);
    assert.equal(dropped.traces, 20 - kept.length);
  });

  it('let one kind of failure drive out no other', async () => {
    await using one = await start({ traces: 20 });
    await one.service.record([span({ name: 'operation a.rare', ...FAILED })]);
    await one.service.record(Array.from({ length: 500 }, () => span({ name: 'operation a.often', ...FAILED })));
    const { traces: kept, dropped } = await one.list({ limit: 1000 });
    assert.equal(kept.filter(({ name }) => name === 'operation a.rare').length, 1);
    assert.equal(kept.filter(({ name }) => name === 'operation a.often').length, 4);
    assert.equal(dropped.traces, 496);
  });

  it('hold for spans of one trace, and the root has its place all the same', async () => {
    await using one = await start({ spans: 5 });
    const root = span({ name: 'root', ...FAILED });
    const inner = Array.from({ length: 20 }, (_, n) => ({
      ...span({ name: `inner ${n}`, parent: root.spanId }),
      traceId: root.traceId,
      root: false,
    }));
    await one.service.record([...inner, root]);
    const trace = await one.get('last');
    assert.equal(trace.spans.length, 5);
    assert.equal(trace.spans[0]?.name, 'root');
    assert.equal(trace.left, 16);
    assert.equal((await one.list()).dropped.spans, 16);
  });

  it('hold for work whose root never ends', async () => {
    await using one = await start();
    await one.service.record(Array.from({ length: 300 }, () => ({ ...span(), root: false, parent: 'a'.repeat(16) })));
    assert.equal((await one.list()).dropped.waiting, 44);
  });

  it('hold for names and attributes, in which no secret and no control stands', async () => {
    await using one = await start();
    const attributes = {
      token: 'CNRY-1',
      note: 'Authorization: Bearer CNRY-2abcdefgh',
      lines: 'a\nb\u001b[31m',
      nan: Number.NaN,
      long: 'y'.repeat(9_000),
      deep: { a: 1 },
      none: null,
      fine: 7,
    };
    const linked = beginTrace(undefined);
    await one.service.record([
      span({ name: `operation ${'n'.repeat(500)}\n`, ...FAILED, attributes: attributes as never, link: linked }),
    ]);
    const trace = await one.get('last');
    const [told] = trace.spans;
    assert.equal(trace.name.length, 128);
    assert.equal(told?.attributes?.fine, 7);
    assert.equal(String(told?.attributes?.long).length, 256);
    assert.equal(told?.attributes?.nan, 'NaN');
    assert.equal(told?.link?.traceId, linked.traceId);
    const text = JSON.stringify(trace);
    for (const bad of ['CNRY', '\\n', '\\u001b', 'deep']) assert.ok(!text.includes(bad), bad);
  });

  it('count what others had to drop, and hold for the bytes of what waits', async () => {
    await using one = await start({ bytes: 16_384 });
    const attributes = Object.fromEntries(Array.from({ length: 16 }, (_, n) => [`k${n}`, 'x'.repeat(200)]));
    const waiting = Array.from({ length: 40 }, () => ({
      ...span({ attributes }),
      root: false,
      parent: 'a'.repeat(16),
    }));
    await one.service.record(waiting, 5);
    const { dropped } = await one.list();
    assert.equal(dropped.lost, 5);
    assert.ok(dropped.waiting! >= 30, `${dropped.waiting}`);
  });

  it('leave out invalid spans', async () => {
    await using one = await start();
    const bad = [null, 7, {}, { ...span(), traceId: 'X' }, { ...span(), ms: Number.NaN }, { ...span(), name: 1 }];
    await one.service.record(bad as never);
    assert.equal((await one.list()).dropped.invalid, bad.length);
  });
});
