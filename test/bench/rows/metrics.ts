/** Rows 112 and 113: what counting costs, beside the bare addition, and one look at 360 series in both forms. */
import { Meter, type MetricData } from '@device-core/plugin-api/telemetry';
import { toPrometheus } from '../../../plugins/state/metrics/prometheus.ts';
import { metricsRequest } from '../../../plugins/state/telemetry/otlp.ts';
import { type Load, type Measured, measureCpu, quartiles, type Row } from '../harness.ts';

const ABOUT = { unit: '{thing}', description: 'things that are counted', level: 'usage', why: 'a bench' } as const;
const RESOURCE = { service: 'device', version: '1.0.0', sku: 'bench', device: 'a-random-name' };
const COUNTS = 1_000_000;
const LOOKS = 50;
/** 6 counters, 9 gauges and 3 histograms of 20 series each. */
const KINDS = ['counter', 'gauge', 'counter', 'gauge', 'gauge', 'histogram'] as const;
const SERIES = 20;

/** CPU of one of `count`, in microseconds divided by `unit`. */
async function each(load: Load, count: number, rounds: number, unit = 1): Promise<Measured> {
  const costs: number[] = [];
  await load();
  for (let round = 0; round < rounds; round++) costs.push((await measureCpu(load)).cpu / count / unit);
  return quartiles(costs);
}

async function many(): Promise<readonly MetricData[]> {
  const meter = new Meter();
  for (let at = 0; at < 3 * KINDS.length; at++) {
    const kind = KINDS[at % KINDS.length]!;
    const [counter, gauge, histogram] = [kind === 'counter', kind === 'gauge', kind === 'histogram'];
    const name = `device.bench.m${at}`;
    const metric = counter ? meter.counter(name, ABOUT) : gauge ? meter.gauge(name, ABOUT) : undefined;
    const times = histogram ? meter.histogram(name, ABOUT) : undefined;
    for (let series = 0; series < SERIES; series++) {
      const labels = { plugin: 'core', id: `series-${series}` };
      const one = metric?.of(labels);
      if (one && 'add' in one) one.add(series);
      else one?.set(series);
      times?.of(labels).record(series / 10);
    }
  }
  return await meter.collect();
}

export const rows: readonly Row[] = [
  {
    id: 112,
    title: 'Metrics: a count and a recorded value',
    goals: [
      { name: 'counter', goal: 0.02, unit: 'us' },
      { name: 'histogram', goal: 0.05, unit: 'us' },
    ],
    async run({ quick }) {
      const meter = new Meter();
      const counter = meter.counter('device.bench.count', ABOUT);
      const histogram = meter.histogram('device.bench.duration', ABOUT);
      const rounds = quick ? 5 : 15;
      const add = () => {
        for (let at = 0; at < COUNTS; at++) counter.add();
      };
      const record = () => {
        for (let at = 0; at < COUNTS; at++) histogram.record(at % 13);
      };
      return { counter: await each(add, COUNTS, rounds), histogram: await each(record, COUNTS, rounds) };
    },
  },
  {
    id: 113,
    title: 'Metrics: 360 series as OTLP in JSON, and as text for Prometheus',
    goals: [
      { name: 'OTLP', goal: 1, unit: 'ms' },
      { name: 'Prometheus', goal: 1, unit: 'ms' },
    ],
    async run({ quick }) {
      const data = await many();
      const rounds = quick ? 5 : 15;
      const otlp = () => {
        for (let look = 0; look < LOOKS; look++) metricsRequest(RESOURCE, data, { from: 1, to: 2 });
      };
      const text = () => {
        for (let look = 0; look < LOOKS; look++) toPrometheus(data);
      };
      return { OTLP: await each(otlp, LOOKS, rounds, 1000), Prometheus: await each(text, LOOKS, rounds, 1000) };
    },
  },
];
