/** The requests, checked by the rules of the OTLP specification for its JSON form, and the lines of the log that become records. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { MetricData } from '@device-core/plugin-api/telemetry';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { LogRecords } from '../../../plugins/state/telemetry/log-records.ts';
import { logsRequest, metricsRequest } from '../../../plugins/state/telemetry/otlp.ts';
import { checkOtlp } from './otlp-shape.ts';

after(leakCheck());

const RESOURCE = { service: 'device', version: '1.0.0', sku: 'test', device: '0b2e4c1e-8a4f-4f52-9a0e-3a5e1d2c7f10' };
const ABOUT = { unit: '{thing}', description: 'things', level: 'usage', why: 'a test' } as const;

describe('a request of metrics', () => {
  it('keeps the rules of the JSON form for all measures', () => {
    const labels = fc.dictionary(fc.constantFrom('a', 'b.c'), fc.string({ unit: 'grapheme' }));
    const number = fc.double({ noNaN: true, noDefaultInfinity: true });
    const plain = fc.record({ labels, value: fc.oneof(number, fc.nat()) });
    const counted = fc.tuple(labels, fc.array(fc.nat(), { minLength: 3, maxLength: 3 })).map(([own, buckets]) => ({
      labels: own,
      value: 1.5,
      buckets,
      count: buckets.reduce((sum, one) => sum + one, 0),
    }));
    // As the registry has them: a series once, a device whose clock has been set.
    const apart = <T extends { readonly labels: object }>(point: fc.Arbitrary<T>) =>
      fc.uniqueArray(point, { selector: ({ labels }) => JSON.stringify(Object.entries(labels).sort()) });
    const metric = fc.oneof(
      fc.record({ kind: fc.constantFrom('counter', 'gauge'), points: apart(plain) }),
      fc.record({ kind: fc.constant('histogram'), bounds: fc.constant([1, 2]), points: apart(counted) }),
    );
    const unit = fc.constantFrom('{a}', 'By', 's', '1');
    fc.assert(
      fc.property(
        fc.array(fc.tuple(metric, unit)),
        fc.nat().map((ms) => ms + 1),
        (list, from) => {
          const metrics = list.map(([one, unit], at) => ({ name: `a.m${at}`, ...ABOUT, ...one, unit }) as MetricData);
          const request = JSON.parse(metricsRequest(RESOURCE, metrics, { from, to: from + 1 }));
          checkOtlp(request);
          const sent = request.resourceMetrics[0].scopeMetrics[0].metrics;
          assert.deepEqual(
            sent.map(({ name, unit }: { name: string; unit: string }) => [name, unit]),
            metrics.map(({ name, unit }) => [name, unit]),
          );
        },
      ),
    );
  });

  it('is, for one counter, these bytes', () => {
    const points = [{ labels: { plugin: 'hello', lang: 'de' }, value: 3 }];
    const body = metricsRequest(RESOURCE, [{ name: 'device.hello.greetings', kind: 'counter', ...ABOUT, points }], {
      from: 1_700_000_000_000,
      to: 1_700_000_060_000,
    });
    assert.equal(
      body,
      '{"resourceMetrics":[{"resource":{"attributes":[' +
        '{"key":"service.name","value":{"stringValue":"device"}},' +
        '{"key":"service.version","value":{"stringValue":"1.0.0"}},' +
        '{"key":"service.instance.id","value":{"stringValue":"0b2e4c1e-8a4f-4f52-9a0e-3a5e1d2c7f10"}},' +
        '{"key":"device.sku","value":{"stringValue":"test"}}]},' +
        '"scopeMetrics":[{"scope":{"name":"device-core"},"metrics":[' +
        '{"name":"device.hello.greetings","description":"things","unit":"{thing}","sum":{"dataPoints":[' +
        '{"attributes":[{"key":"plugin","value":{"stringValue":"hello"}},{"key":"lang","value":{"stringValue":"de"}}],' +
        '"startTimeUnixNano":"1700000000000000000","timeUnixNano":"1700000060000000000","asInt":"3"}],' +
        '"aggregationTemporality":2,"isMonotonic":true}}]}]}]}',
    );
  });
});

describe('lines of the log', () => {
  const line = (level: number, more: object = {}) =>
    JSON.stringify({ level, time: 1_700_000_000_000, msg: 'm', ...more });

  const cases: readonly (readonly [consent: 'off' | 'crash' | 'usage' | 'full', levels: readonly number[]])[] = [
    ['off', []],
    ['crash', [50, 60]],
    ['usage', [40, 50, 60]],
    ['full', [40, 50, 60]],
  ];
  for (const [consent, levels] of cases)
    it(`of ${levels.length} levels leave with the consent ${consent}, where warn is the least`, () => {
      const records = new LogRecords('warn');
      for (const level of [10, 20, 30, 40, 50, 60]) records.take(line(level), consent);
      const severities = { 40: 13, 50: 17, 60: 21 } as const;
      assert.deepEqual(
        records.waiting.map(({ severity }) => severity),
        levels.map((level) => severities[level as 40]),
      );
      checkOtlp(JSON.parse(logsRequest(RESOURCE, records.waiting)));
    });

  it('have plugin, error and trace, and no other of their fields', () => {
    const records = new LogRecords('warn');
    const trace = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    const err = { type: 'TypeError', message: 'x is not y', stack: 'TypeError: x\n at z', secretive: 'no' };
    records.take(line(50, { plugin: 'voice', code: 'BUSY', heard: 'the words', trace, err }), 'usage');
    const [record] = records.waiting;
    assert.deepEqual(record?.attributes, {
      'device.plugin': 'voice',
      'error.type': 'BUSY',
      'exception.type': 'TypeError',
      'exception.message': 'x is not y',
      'exception.stacktrace': 'TypeError: x\n at z',
    });
    assert.deepEqual([record?.traceId, record?.spanId], ['a'.repeat(32), 'b'.repeat(16)]);
    const body = logsRequest(RESOURCE, records.waiting);
    checkOtlp(JSON.parse(body));
    assert.ok(!body.includes('the words') && !body.includes('secretive'));
  });

  const never: readonly (readonly [what: string, line: string])[] = [
    ['is no JSON', '{"level":50,"msg":"x'],
    ['is empty', ''],
    ['has no level first', '{"msg":"x","level":50}'],
    ['has a level that is none', '{"level":55,"msg":"x"}'],
    ['is of telemetry itself', line(50, { plugin: 'telemetry' })],
    ['is of the outbox', line(50, { plugin: 'outbox' })],
    ['was printed by an app', line(50, { app: 'com.a', from: 'stderr' })],
  ];
  for (const [what, text] of never)
    it(`stay where one ${what}`, () => {
      const records = new LogRecords('debug');
      assert.equal(records.take(text, 'usage'), false);
      assert.deepEqual(records.waiting, []);
    });

  it('are bound: surplus lines are counted in their place, and long ones are cut', () => {
    const records = new LogRecords('warn');
    for (let at = 0; at < 10_000; at++) records.take(line(50, { msg: `m${at}` }), 'full');
    assert.equal(records.waiting.length, 201);
    assert.equal(records.waiting.at(-1)?.body, '9800 lines were left out');
    records.clear();
    assert.deepEqual(records.waiting, []);
    for (let at = 0; at < 100; at++) records.take(line(50, { msg: '\ud83d\ude00'.repeat(600_000) }), 'full');
    assert.ok(logsRequest(RESOURCE, records.waiting).length < 400_000);
    checkOtlp(JSON.parse(logsRequest(RESOURCE, records.waiting)));
  });
});
