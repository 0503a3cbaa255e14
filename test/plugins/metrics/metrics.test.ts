/** The plugin: sources of all kinds, good and hostile; counters over restarts; limits; what Prometheus reads. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { secretScan } from '@device-core/plugin-api/inside/services/secret-scan';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { operations } from '@device-core/plugin-api/services/operations';
import { Meter, type MetricData, type MetricSource, metrics } from '@device-core/plugin-api/telemetry';
import { createTestHost, leakCheck, TestOperations, virtualClock } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/state/metrics/index.ts';
import { eventually } from '../../fixtures/eventually.ts';

after(leakCheck());

const manifest = join(import.meta.dirname, '../../../manifests/plugins/state/metrics.yaml');
const USAGE = { description: 'what it is', level: 'usage', why: 'because' } as const;

async function start(config: object = {}, clock = virtualClock()) {
  const table = new TestOperations();
  const host = await createTestHost(plugin, { manifest, config, clock, services: [[operations, table]] });
  const service = (of: string) => host.serviceFor(metrics, { plugin: of });
  const look = async () => {
    const all = await service('somebody').collect();
    return (name: string) => all.find((one) => one.name === name);
  };
  const told = async () => {
    const warnings: string[] = [];
    const report: HealthReport = {
      add: () => undefined,
      bridge: () => undefined,
      warn: (code, text) => warnings.push(`${code} ${text}`),
    };
    await host.hook('health.collect').promise(report);
    return warnings.join('\n');
  };
  return { host, table, clock, service, look, told };
}

const counter = (points: MetricData['points'], more: object = {}): MetricSource => ({
  collect: async () => [{ name: 'device.test', kind: 'counter', unit: '1', ...USAGE, points, ...more } as MetricData],
});

describe('a text of a secret in a label', () => {
  const SECRET = 'correct horse battery';
  const labels = { host: `${'x'.repeat(120)}${SECRET}`, at: SECRET };

  it('is taken out before it is cut', async () => {
    const { host, service, look } = await start();
    await using _host = host;
    const hide = async (all: readonly string[]) => all.map((text) => text.replaceAll(SECRET, '[secret a]'));
    await host.appear(secretScan, { hide });
    await service('a').register(counter([{ labels, value: 5 }]));
    const told = (await look())('device.test');
    assert.equal(told?.points[0]?.labels.at, '[secret a]');
    assert.doesNotMatch(JSON.stringify(told), /corre/);
  });

  it('is withheld with the others where it cannot be looked for', async () => {
    const { host, service, look } = await start();
    await using _host = host;
    await host.appear(secretScan, { hide: () => Promise.reject(new Error('no')) });
    await service('a').register(counter([{ labels, value: 5 }]));
    const told = (await look())('device.test');
    assert.equal(told?.points[0]?.labels.at, 'withheld');
    assert.equal(told?.points[0]?.value, 5);
    assert.doesNotMatch(JSON.stringify(told), /corre/);
  });
});

describe('a text of a secret beside the labels', () => {
  const SECRET = 'hunter2_hunter2';
  const hide = async (all: readonly string[]) => all.map((text) => text.replaceAll(SECRET, '[secret]'));
  const one = (more: object): MetricSource => ({
    collect: async () => [
      { name: 'device.test', kind: 'counter', unit: '1', ...USAGE, points: [{ labels: {}, value: 1 }], ...more },
    ],
  });
  const outside = (host: Awaited<ReturnType<typeof start>>['host']) =>
    host.serviceFor(metrics, { plugin: 'guest', outside: true });

  const refused: readonly (readonly [what: string, given: object, why: string])[] = [
    ['name', { name: `device.${SECRET}` }, 'a name that may hold a secret'],
    ['unit', { unit: `{${SECRET}}` }, 'the unit of device.test'],
    [
      'name of a label',
      { points: [{ labels: { [SECRET]: 'x' }, value: 1 }] },
      'device.test: a label whose name may hold a secret',
    ],
    ['name that is none', { name: `Device ${SECRET}` }, 'the name "Device [secret]"'],
    [
      'name of a label that is none',
      { points: [{ labels: { [`a ${SECRET}`]: 'x' }, value: 1 }] },
      'device.test: the label "a [secret]"',
    ],
  ];
  for (const [what, given, why] of refused)
    it(`is not told where it is a ${what}: the point is left out`, async () => {
      const { host, service, told } = await start();
      await using _host = host;
      await host.appear(secretScan, { hide });
      await outside(host).register(one(given));
      const all = await service('somebody').collect();
      assert.ok(!JSON.stringify(all).includes(SECRET));
      assert.ok(!all.some(({ points }) => points.some(({ labels }) => labels.plugin === 'guest')));
      const warnings = await told();
      assert.ok(warnings.includes(why), warnings);
      assert.ok(!warnings.includes(SECRET));
    });

  it('is taken out of descriptions before they are cut, also where it was set after the first look', async () => {
    const { host, service, look } = await start();
    await using _host = host;
    const why = `${'y'.repeat(290)}${SECRET}`;
    await service('a').register(one({ description: `of ${SECRET}`, why }));
    assert.equal((await look())('device.test')?.description, `of ${SECRET}`);
    await host.appear(secretScan, { hide });
    const told = (await look())('device.test');
    assert.equal(told?.description, 'of [secret]');
    assert.doesNotMatch(JSON.stringify(told), /hunter/);
  });

  it('takes away no metric of the Core, for apps set secrets as they like', async () => {
    const { host, service, look } = await start();
    await using _host = host;
    await host.appear(secretScan, { hide });
    await service('voice').register(
      one({ name: `device.${SECRET}`, points: [{ labels: { [SECRET]: SECRET }, value: 1 }] }),
    );
    assert.deepEqual((await look())(`device.${SECRET}`)?.points, [
      { labels: { plugin: 'voice', [SECRET]: '[secret]' }, value: 1 },
    ]);
  });

  it('withholds the metrics of plugins from outside where nothing can be looked for', async () => {
    const { host, service, look, told } = await start();
    await using _host = host;
    await host.appear(secretScan, { hide: () => Promise.reject(new Error('no')) });
    await outside(host).register(one({ name: 'device.guest' }));
    await service('a').register(one({}));
    const metric = await look();
    assert.equal(metric('device.guest'), undefined);
    assert.deepEqual([metric('device.test')?.points[0]?.value, metric('device.test')?.description], [1, 'withheld']);
    assert.match(await told(), /guest: 1 are malformed \(a name that may hold a secret\)/);
  });
});

describe('metrics of plugins', () => {
  it('are collected at each look, and bear the plugin as a label', async () => {
    const { host, service, look } = await start();
    await using _host = host;
    const meter = new Meter();
    const greetings = meter.counter('device.hello.greetings', { ...USAGE, unit: '{greeting}' });
    meter.histogram('device.hello.duration', { ...USAGE, bounds: [0.1, 1] }).record(0.5);
    await service('hello').register(meter);
    greetings.add();
    greetings.of({ lang: 'de' }).add(2);
    const metric = await look();
    assert.deepEqual(metric('device.hello.greetings')?.points, [
      { labels: { plugin: 'hello' }, value: 1 },
      { labels: { plugin: 'hello', lang: 'de' }, value: 2 },
    ]);
    assert.deepEqual(metric('device.hello.duration')?.points, [
      { labels: { plugin: 'hello' }, value: 0.5, count: 1, buckets: [0, 1, 0] },
    ]);
  });

  it('go on where a plugin restarts, with and without saying so, and count nothing twice', async () => {
    const { host, service, look } = await start();
    await using _host = host;
    const value = async () => (await look())('device.test')?.points.map((point) => point.value);
    const first = await service('a').register(counter([{ labels: {}, value: 5 }]));
    await service('b').register(counter([{ labels: {}, value: 100 }]));
    assert.deepEqual(await value(), [5, 100]);
    assert.deepEqual(await value(), [5, 100]);
    first[Symbol.dispose]();
    assert.deepEqual(await value(), [100]);
    let now = 7;
    await service('a').register({
      collect: async () => await counter([{ labels: {}, value: now }]).collect(),
    });
    assert.deepEqual(await value(), [12, 100], '5 before, 7 since');
    now = 2;
    assert.deepEqual(await value(), [14, 100], 'it began anew inside');
    now = 3;
    assert.deepEqual(await value(), [15, 100]);
  });

  it('add up where two sources of a plugin tell of the same, histograms with their buckets', async () => {
    const { host, service, look } = await start();
    await using _host = host;
    for (let source = 0; source < 2; source++) {
      const meter = new Meter();
      meter.histogram('device.test.duration', { ...USAGE, bounds: [1] }).record(source === 0 ? 0.5 : 3);
      await service('a').register(meter);
    }
    assert.deepEqual((await look())('device.test.duration')?.points, [
      { labels: { plugin: 'a' }, value: 3.5, count: 2, buckets: [1, 1] },
    ]);
  });
});

describe('a source that does not keep to the contract', () => {
  const good = { labels: {}, value: 1 };
  const cases: readonly (readonly [what: string, source: MetricSource, told: RegExp])[] = [
    ['throws', { collect: () => Promise.reject(new Error('of the source')) }, /METRICS_LEFT_OUT .*bad: of the source/],
    ['answers a text', { collect: async () => 'x' as never }, /METRICS_LEFT_OUT .*no list/],
    ['answers nothing', { collect: async () => undefined as never }, /METRICS_LEFT_OUT/],
    [
      'has a getter that throws',
      {
        collect: async () => [
          Object.defineProperty({}, 'name', {
            get: () => {
              throw new Error('getter');
            },
          }) as never,
        ],
      },
      /METRICS_LEFT_OUT .*getter/,
    ],
    ['names it with a newline', counter([good], { name: 'a\nb' }), /METRICS_LIMITED .*the name "a\\nb"/],
    ['names it after nothing', counter([good], { name: '' }), /METRICS_LIMITED/],
    ['names it in 129 characters', counter([good], { name: 'x'.repeat(129) }), /METRICS_LIMITED/],
    ['has another kind', counter([good], { kind: 'summary' }), /the kind of/],
    ['has a unit with a space', counter([good], { unit: 'a b' }), /the unit of/],
    ['needs the consent off', counter([good], { level: 'off' }), /the level of/],
    ['counts NaN', counter([{ labels: {}, value: Number.NaN }]), /no number/],
    ['counts infinity', counter([{ labels: {}, value: Number.POSITIVE_INFINITY }]), /no number/],
    ['counts a text', counter([{ labels: {}, value: '1' as never }]), /no number/],
    ['counts down', counter([{ labels: {}, value: -1 }]), /below zero/],
    [
      'has nine labels',
      counter([{ labels: Object.fromEntries([...'abcdefghi'].map((l) => [l, ''])), value: 1 }]),
      /8 labels/,
    ],
    ['says whose it is', counter([{ labels: { plugin: 'voice' }, value: 1 }]), /the label "plugin"/],
    ['has a label of Prometheus', counter([{ labels: { le: '1' }, value: 1 }]), /the label "le"/],
    ['has a label with a quote', counter([{ labels: { 'a"': '' }, value: 1 }]), /the label/],
    ['has a label that is a number', counter([{ labels: { a: 1 as never }, value: 1 }]), /without a text/],
    ['has two labels that are one', counter([{ labels: { 'a.b': '1', a_b: '2' }, value: 1 }]), /two labels like/],
    ['has a histogram without bounds', counter([good], { kind: 'histogram' }), /the bounds of/],
    ['has bounds that fall', counter([good], { kind: 'histogram', bounds: [2, 1] }), /the bounds of/],
    [
      'has half a bucket',
      counter([{ labels: {}, value: 1, count: 1, buckets: [0.5, 0.5] }], { kind: 'histogram', bounds: [1] }),
      /buckets/,
    ],
    [
      'has other buckets than it counts',
      counter([{ labels: {}, value: 1, count: 3, buckets: [1, 1] }], { kind: 'histogram', bounds: [1] }),
      /not as many/,
    ],
    [
      'tells 501 metrics',
      {
        collect: async () =>
          Array.from({ length: 501 }, (_, at) => ({
            name: `x.a${at}`,
            kind: 'gauge' as const,
            unit: '1',
            ...USAGE,
            points: [good],
          })),
      },
      /more than 500 metrics/,
    ],
  ];
  for (const [what, source, expected] of cases)
    it(`is left out where it ${what}, and named; the others are told`, async () => {
      const { host, service, look, told } = await start();
      await using _host = host;
      await service('bad').register(source);
      await service('good').register(counter([{ labels: {}, value: 4 }]));
      const points = (await look())('device.test')?.points;
      assert.deepEqual(points, [{ labels: { plugin: 'good' }, value: 4 }]);
      assert.match(await told(), expected);
      const failures = (await look())('device.metrics.source.failures')?.points[0]?.value ?? 0;
      const left = (await look())('device.metrics.points.left_out')?.points[0]?.value ?? 0;
      assert.ok(failures + left > 0, 'it is counted');
    });

  it('is not asked again while it hangs, and comes back when it answers', async () => {
    const { host, service, look, told, clock } = await start({ sourceMs: 100 });
    await using _host = host;
    const answer = Promise.withResolvers<readonly MetricData[]>();
    let asked = 0;
    await service('slow').register({
      collect: () => {
        asked++;
        return answer.promise;
      },
    });
    await service('good').register(counter([{ labels: {}, value: 4 }]));
    const first = look();
    await clock.advance(700);
    assert.deepEqual((await first)('device.test')?.points, [{ labels: { plugin: 'good' }, value: 4 }]);
    assert.match(await told(), /METRICS_LEFT_OUT .*slow: .*timed out/);
    await look();
    assert.equal(asked, 1);
    assert.match(await told(), /slow: its last answer is still to come \(2 times\)/);
    answer.resolve(await counter([{ labels: {}, value: 9 }]).collect());
    await eventually(async () => {
      const points = (await look())('device.test')?.points;
      return points?.some((point) => point.value === 9);
    }, 'its answer');
    assert.equal(await told(), '');
  });

  it('is refused where it is the 17th of its plugin', async () => {
    const { host, service } = await start();
    await using _host = host;
    for (let source = 0; source < 16; source++) await service('many').register(new Meter());
    await assert.rejects(service('many').register(new Meter()), { code: 'PARAMS_INVALID' });
    await service('another').register(new Meter());
  });
});

describe('limits', () => {
  const many = (count: number, kind = 'counter', round = 0) =>
    counter(
      Array.from({ length: count }, (_, at) => ({ labels: { id: `${round}-${at}` }, value: 1 })),
      { kind },
    );

  it('make one series of 10^5 label sets: 20 stay apart, the rest is the other one, and it is said', async () => {
    const { host, service, look, told } = await start();
    await using _host = host;
    await service('app').register(many(100_000));
    const points = (await look())('device.test')?.points ?? [];
    assert.equal(points.length, 21);
    assert.deepEqual(points.at(-1), { labels: { plugin: 'app', other: 'true' }, value: 4_980 });
    assert.match(
      await told(),
      /app: 95000 are malformed .*more than 5000 points.*; app: 4980 series of device\.test are beyond/,
    );
    await look();
    assert.equal((await look())('device.test')?.points.at(-1)?.value, 4_980, 'the other one is no more the next time');
  });

  it('leave out gauges beyond them, for these have no sum', async () => {
    const { host, service, look } = await start({ perMetric: 3 });
    await using _host = host;
    await service('app').register(many(5, 'gauge'));
    assert.equal((await look())('device.test')?.points.length, 3);
  });

  it('hold for all plugins together, and stale series make room', async () => {
    const { host, service, look } = await start({ series: 100, perMetric: 1000 });
    await using _host = host;
    let round = 0;
    await service('greedy').register({ collect: () => many(200, 'counter', round).collect() });
    assert.ok(((await look())('device.test')?.points.length ?? 0) <= 100);
    await service('late').register(counter([{ labels: {}, value: 1 }], { name: 'device.late' }));
    assert.equal((await look())('device.late'), undefined, 'there is no room');
    round++;
    for (let looks = 0; looks < 14; looks++) await look();
    assert.ok(((await look())('device.test')?.points ?? []).some(({ labels }) => labels.id?.startsWith('1-')));
  });

  it('are told once for a metric that means something else in another plugin', async () => {
    const { host, service, look, told } = await start();
    await using _host = host;
    await service('a').register(counter([{ labels: {}, value: 1 }]));
    await service('b').register(counter([{ labels: {}, value: 2 }], { unit: 'By' }));
    assert.equal((await look())('device.test')?.points.length, 1);
    assert.match(await told(), /b: device\.test means something else in another plugin/);
  });

  it('do not let a plugin lower the consent that a metric of another needs', async () => {
    const { host, service, look } = await start();
    await using _host = host;
    await service('a').register(counter([{ labels: {}, value: 1 }], { level: 'full' }));
    await service('b').register(counter([{ labels: {}, value: 2 }], { level: 'crash' }));
    assert.equal((await look())('device.test')?.level, 'full');
  });
});

describe('measurements of the Core', () => {
  it('is in it: the process, its event loop, its plugins, its events', async () => {
    const { host, look } = await start();
    await using _host = host;
    host.publish('system.refused', { count: 3 });
    await host.settle();
    const metric = await look();
    for (const name of ['process.cpu.time', 'process.memory.usage', 'process.uptime', 'nodejs.eventloop.delay.p99'])
      assert.ok((metric(name)?.points.length ?? 0) > 0, name);
    assert.ok(
      (metric('device.plugin.busy.time')?.points ?? []).some(({ labels }) => labels['device.plugin'] === 'metrics'),
    );
    assert.deepEqual(metric('device.capability.refusals')?.points, [{ labels: { plugin: 'core' }, value: 3 }]);
    for (const { level, why, description } of await host.serviceFor(metrics, { plugin: 'x' }).collect())
      assert.ok(level && why && description);
  });

  it('is listed by an operation, with the words of each', async () => {
    const { host, table } = await start();
    await using _host = host;
    const { series, about } = await table.run<{ series: readonly { name: string }[]; about: readonly object[] }>(
      'metrics.list',
      { prefix: 'device.event.' },
    );
    assert.ok(series.length >= 6);
    assert.ok(series.every(({ name }) => name.startsWith('device.event.')));
    assert.ok(about.length >= 3);
    await assert.rejects(table.run('metrics.text', {}, { caller: { kind: 'app', id: 'com.a' } as never }), {
      code: 'CAPABILITY_DENIED',
    });
  });

  it('has no timer: an idle device is asked nothing', async () => {
    const { host, clock, service } = await start();
    await using _host = host;
    let asked = 0;
    await service('a').register({
      collect: async () => {
        asked++;
        return [];
      },
    });
    await clock.advance(3_600_000);
    assert.equal(asked, 0);
  });
});
