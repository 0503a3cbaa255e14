/** The text that a Prometheus server reads: whatever a metric says, it parses, and comes out as it went in. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { MetricData } from '@device-core/plugin-api/telemetry';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { toPrometheus } from '../../../plugins/state/metrics/prometheus.ts';
import { readMetrics } from '../../../plugins/state/metrics/reading.ts';
import { ANY_CHARACTER } from '../../fixtures/any-text.ts';

after(leakCheck());

const USAGE = { description: 'what it is', level: 'usage', why: 'because' } as const;
const metric = (name: string, more: object = {}): MetricData => ({
  name,
  kind: 'counter',
  unit: '1',
  ...USAGE,
  points: [{ labels: {}, value: 1 }],
  ...more,
});

/** The grammar of the text format 0.0.4, as its documentation has it. */
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\]|\\["\\n])*",?)*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\["\\n])*)"/g;

function parse(text: string) {
  assert.ok(text === '' || text.endsWith('\n'));
  const samples: { name: string; labels: Record<string, string>; value: number }[] = [];
  const types = new Set<string>();
  for (const line of text.split('\n').slice(0, -1)) {
    if (line.startsWith('# TYPE ')) {
      const name = line.split(' ')[2]!;
      assert.ok(!types.has(name), `two types of ${name}`);
      types.add(name);
    }
    if (line.startsWith('#')) continue;
    const [, name = '', labels = '', value = ''] =
      SAMPLE.exec(line) ?? assert.fail(`no sample: ${JSON.stringify(line)}`);
    const plain = (quoted: string) => quoted.replace(/\\(.)/g, (_, one) => (one === 'n' ? '\n' : one));
    const pairs = [...labels.matchAll(LABEL)].map(([, label = '', quoted = '']) => [label, plain(quoted)] as const);
    const own = Object.fromEntries(pairs);
    assert.equal(Object.keys(own).length, pairs.length, 'a label twice');
    assert.ok(Number.isFinite(Number(value)));
    samples.push({ name, labels: own, value: Number(value) });
  }
  const keys = samples.map(({ name, labels }) => JSON.stringify([name, Object.entries(labels).sort()]));
  assert.equal(new Set(keys).size, keys.length, 'a series twice');
  return samples;
}

describe('the text for Prometheus', () => {
  it('can be parsed for any answer of a source, with quotes, newlines and backslashes unchanged', () => {
    const label = fc.constantFrom('a', 'b', 'a.b', 'a_b', 'le', 'plugin', 'x"y', '', 'other');
    const text = fc.oneof(
      fc.string(),
      fc.string({ unit: ANY_CHARACTER }),
      fc.constantFrom('"', '\\', '\n', '\\n', '"} 1\nx 2', '\ud800'),
    );
    const number = fc.oneof(fc.double(), fc.nat(), fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, -0));
    const point = fc.record({
      labels: fc.dictionary(label, text),
      value: number,
      count: fc.nat(9),
      buckets: fc.array(fc.nat(9), { maxLength: 3 }),
    });
    const name = fc.constantFrom('a.b', 'a_b', 'a.b.total', 'a.b.count', 'a.b.sum', 'a\nb', '', 'x.seconds', 'A');
    const one = fc.record({
      name,
      kind: fc.constantFrom('counter', 'gauge', 'histogram', 'x'),
      unit: fc.constantFrom('1', 's', 'By', '{a}', ' '),
      description: text,
      why: text,
      level: fc.constant('usage'),
      bounds: fc.constantFrom([1], [1, 2], [2, 1]),
      points: fc.array(point, { maxLength: 3 }),
    });
    fc.assert(
      fc.property(fc.array(one, { maxLength: 6 }), (answer) => {
        const { metrics } = readMetrics(answer);
        // The registry makes one of those with the same name, and one of points with the same labels.
        const apart = [...new Map(metrics.map((one) => [one.name, one])).values()].map((one) => ({
          ...one,
          points: [
            ...new Map(
              one.points.map((point) => [JSON.stringify(Object.entries(point.labels).sort()), point]),
            ).values(),
          ],
        }));
        const samples = parse(toPrometheus(apart));
        for (const { points, kind } of apart.slice(0, 1)) {
          if (kind === 'histogram') continue;
          for (const { labels } of points)
            for (const [name, value] of Object.entries(labels))
              assert.ok(samples.some((one) => one.labels[name.replaceAll('.', '_')] === value));
        }
      }),
    );
  });

  const names: readonly (readonly [metric: MetricData, name: string])[] = [
    [metric('device.x'), 'device_x_total'],
    [metric('device.x.total'), 'device_x_total'],
    [metric('process.cpu.time', { unit: 's' }), 'process_cpu_time_seconds_total'],
    [metric('process.memory.usage', { unit: 'By', kind: 'gauge' }), 'process_memory_usage_bytes'],
    [metric('a.utilization', { kind: 'gauge' }), 'a_utilization_ratio'],
    [metric('a.b', { kind: 'gauge', unit: '{event}' }), 'a_b'],
  ];
  for (const [one, name] of names)
    it(`names ${one.name} (${one.kind}, ${one.unit}) ${name}`, () => {
      assert.equal(parse(toPrometheus([one]))[0]?.name, name);
    });

  it('counts buckets upwards', () => {
    const points = [{ labels: { plugin: 'a' }, value: 4.5, count: 3, buckets: [1, 1, 1] }];
    const text = toPrometheus([metric('a.duration', { kind: 'histogram', unit: 's', bounds: [0.5, 1], points })]);
    assert.deepEqual(text.split('\n').slice(2), [
      'a_duration_seconds_bucket{plugin="a",le="0.5"} 1',
      'a_duration_seconds_bucket{plugin="a",le="1"} 2',
      'a_duration_seconds_bucket{plugin="a",le="+Inf"} 3',
      'a_duration_seconds_sum{plugin="a"} 4.5',
      'a_duration_seconds_count{plugin="a"} 3',
      '',
    ]);
  });

  it('leaves out the second of two names that are one, and says so', () => {
    const text = toPrometheus([metric('device.x_y'), metric('device.x.y')]);
    assert.equal(parse(text).length, 1);
    assert.match(text, /# device\.x\.y is left out: here its name would be device_x_y_total/);
  });
});
