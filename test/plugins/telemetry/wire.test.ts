/** What leaves a whole Core for collectors of others, with the worst labels: checked by what others publish, and by their tool where it is installed. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { type MetricData, metrics } from '@device-core/plugin-api/telemetry';
import { leakCheck } from '@device-core/plugin-api/testing';
import { type Core, startCore } from '../../fixtures/core.ts';
import { without } from '../../fixtures/debian.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { Collector } from './fakes.ts';
import { checkOtlp } from './otlp-shape.ts';

after(leakCheck());

const PLUGINS = {
  operations: '^1.0.0',
  identity: '^1.0.0',
  system: '^1.0.0',
  http: '^1.0.0',
  ledger: '^1.0.0',
  outbox: '^1.0.0',
  metrics: '^1.0.0',
  traces: '^1.0.0',
};
const NASTY = [
  ...['"', '\\', '\n', '\\n', '"} 1\nforged 2', '# HELP x', '\r', '\0', '\ud800', '\u2028', 'é😀', '', ' ', '{a="b"}'],
  ...['x'.repeat(10_000), '\u202eabc', "'; --"],
];
const ABOUT = { unit: '1', level: 'usage', why: 'a "test"\\ of\nall' } as const;
const points = NASTY.map((of, at) => ({ labels: { of, 'b.c': `${at}` }, value: at }));
const bounds = [-1, 0, 0.1, 1e21];
const GIVEN: readonly MetricData[] = [
  { name: 'device.nasty', kind: 'counter', description: 'of "all" \\ \n# TYPE kinds', ...ABOUT, points },
  { name: 'device.nasty.level', kind: 'gauge', description: '\\', ...ABOUT, unit: 'Cel', points },
  {
    name: 'device.nasty.duration',
    kind: 'histogram',
    description: 'x'.repeat(999),
    ...ABOUT,
    unit: 's',
    bounds,
    points: points.map(({ labels }) => ({ labels, value: 1e-7, count: 3, buckets: [1, 0, 0, 1, 1] })),
  },
  { name: 'device.nasty_level', kind: 'gauge', description: 'one name with another', ...ABOUT, unit: 'Cel', points },
  ...[Number.MAX_VALUE, 5e-324, -0, 2 ** 53, -1e21].map(
    (value, at): MetricData => ({
      name: `device.number${at}`,
      kind: 'gauge',
      description: 'a number',
      ...ABOUT,
      points: [{ labels: {}, value }],
    }),
  ),
];

async function ask(core: Core, path: string, method = 'GET', body?: object): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const headers = body && { 'content-type': 'application/json' };
  const socketPath = join(core.paths.run, 'core.sock');
  request({ socketPath, path, method, ...(headers && { headers }), agent: false })
    .once('error', reject)
    .once('response', async (answer) => {
      const said = await text(answer);
      if (answer.statusCode === 200) resolve(said);
      else reject(new Error(`${path}: ${answer.statusCode} ${said}`));
    })
    .end(body && JSON.stringify(body));
  return promise;
}

describe('a whole Core', () => {
  let core: Core;
  let collector: Collector;
  before(async () => {
    collector = await Collector.start();
    const config = { telemetry: { endpoint: collector.url, intervalMs: 1_000 } };
    core = await startCore({ plugins: { ...PLUGINS, telemetry: '^1.0.0' }, config });
    await core.service(metrics).register({ collect: async () => GIVEN });
  });
  after(async () => {
    await core.stop();
    await collector[Symbol.asyncDispose]();
  });

  it('tells Prometheus what its own tool takes, without a word of complaint', {
    skip: without('prometheus'),
  }, async () => {
    const said = await ask(core, '/metrics');
    assert.match(said, /^device_nasty_total\{/m);
    assert.doesNotMatch(said, /^forged/m);
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: said, encoding: 'utf8' });
    assert.deepEqual([status, stdout, stderr], [0, '', '']);
  });

  it('sends a collector bodies of the published shape, for any text in labels and in lines of the log', async () => {
    await ask(core, '/telemetry/consent', 'PUT', { level: 'full' });
    await eventually(() => collector.of('/v1/metrics').some((body) => body.includes('device.nasty')), 'a push');
    for (const msg of NASTY) core.kernel.parts.log.warn({ code: msg, err: new Error(msg) }, msg);
    const trace = `00-${'a1'.repeat(16)}-${'b2'.repeat(8)}-01`;
    core.kernel.parts.log.error({ trace }, 'in a trace');
    await eventually(() => collector.of('/v1/logs').some((body) => body.includes('in a trace')), 'the log');
    for (const { path, body, headers } of collector.received) {
      assert.ok(['/v1/metrics', '/v1/logs'].includes(path));
      assert.equal(headers['content-type'], 'application/json');
      checkOtlp(JSON.parse(body));
    }
    assert.ok(collector.of('/v1/logs').some((body) => body.includes(`"traceId":"${'a1'.repeat(16)}"`)));
  });
});

describe('the check of the shape', () => {
  const good = () => ({
    resourceMetrics: [
      {
        scopeMetrics: [
          {
            metrics: [
              { name: 'a', gauge: { dataPoints: [{ timeUnixNano: '1', asInt: '1', attributes: [] as object[] }] } },
            ],
          },
        ],
      },
    ],
  });
  type Point = Record<string, unknown>;
  const cases: readonly (readonly [what: string, spoil: (point: Point, metric: Point) => void])[] = [
    ['an unknown member', (point) => Object.assign(point, { labels: [] })],
    ['a wide number that is none', (point) => Object.assign(point, { timeUnixNano: 1 })],
    ['a wide number that is too wide', (point) => Object.assign(point, { asInt: `${1n << 63n}` })],
    ['two values', (point) => Object.assign(point, { asDouble: 1 })],
    ['no value', (point) => delete point.asInt],
    ['two kinds', (_, metric) => Object.assign(metric, { sum: metric.gauge })],
    [
      'a key twice',
      (point) => Object.assign(point, { attributes: [1, 2].map(() => ({ key: 'a', value: { intValue: '1' } })) }),
    ],
    ['an attribute that is a text', (point) => Object.assign(point, { attributes: [{ key: 'a', value: 'b' }] })],
    ['an end before the start', (point) => Object.assign(point, { startTimeUnixNano: '2' })],
    ['a member of JavaScript', (point) => Object.assign(point, { constructor: {} })],
  ];
  it('takes a good one', () => checkOtlp(good()));
  for (const [what, spoil] of cases)
    it(`refuses ${what}`, () => {
      const request = good();
      const metric = request.resourceMetrics[0]!.scopeMetrics[0]!.metrics[0]!;
      spoil(metric.gauge.dataPoints[0]!, metric);
      assert.throws(() => checkOtlp(request), assert.AssertionError);
    });
});
