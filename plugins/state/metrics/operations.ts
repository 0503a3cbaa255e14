import { CONSENT_LEVELS } from '@device-core/plugin-api/inside/services/telemetry';
import { exactly } from '@device-core/plugin-api/operation-kit';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import type { MetricData, Metrics } from '@device-core/plugin-api/telemetry';
import { PROMETHEUS_TYPE, toPrometheus } from './prometheus.ts';

const ABOUT: JsonSchema = exactly({
  name: { type: 'string' },
  kind: { enum: ['counter', 'gauge', 'histogram'] },
  unit: { type: 'string', description: 'UCUM' },
  level: { enum: CONSENT_LEVELS.slice(1), description: 'the consent that it needs to leave the device' },
  description: { type: 'string' },
  why: { type: 'string', description: 'why it would be sent' },
});
const SERIES: JsonSchema = exactly(
  {
    name: { type: 'string' },
    labels: { type: 'object', additionalProperties: { type: 'string' } },
    shown: { type: 'string', description: 'the labels as one text' },
    unit: { type: 'string' },
    value: { type: 'number', description: 'of a histogram the sum' },
    count: { type: 'integer', description: 'of a histogram' },
    buckets: { type: 'array', items: { type: 'integer' } },
  },
  ['name', 'labels', 'shown', 'unit', 'value'],
);
const PREFIX: JsonSchema = {
  type: 'string',
  maxLength: 128,
  description: 'metrics whose name begins so: `device.plugin`',
};

interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly shown: string;
  readonly unit: string;
  readonly value: number;
  readonly count?: number;
  readonly buckets?: readonly number[];
}

interface Listed {
  readonly series: readonly Series[];
  readonly about: readonly Omit<MetricData, 'points' | 'bounds'>[];
}

export function metricsOperations(metrics: Pick<Metrics, 'collect'>): readonly Operation<never, unknown>[] {
  const list: Operation<{ readonly prefix?: string }, Listed> = {
    name: 'metrics.list',
    summary: 'Counters and measurements of the device, now',
    description:
      'Every plugin is asked at this moment. What does not answer in time is left out, and named in /health.',
    params: exactly({ prefix: PREFIX }, []),
    result: exactly({ series: { type: 'array', items: SERIES }, about: { type: 'array', items: ABOUT } }),
    capability: 'system.metrics',
    cli: [
      {
        command: 'metrics',
        fixed: ['prefix'],
        hide: ['about'],
        columns: [['METRIC', '{name}'], ['LABELS', '{shown}'], 'value', 'count', 'unit'],
        empty: 'nothing is measured',
      },
      {
        command: 'metrics about',
        fixed: ['prefix'],
        hide: ['series'],
        columns: [['METRIC', '{name}'], 'kind', 'unit', 'level', 'why'],
        empty: 'nothing is measured',
      },
    ],
    rest: { method: 'GET', path: '/metrics/list' },
    errors: [],
    async run({ prefix = '' }) {
      const found = (await metrics.collect()).filter(({ name }) => name.startsWith(prefix));
      const series = found.flatMap(({ name, unit, points }) =>
        points.map((point) => ({ name, ...point, shown: shown(point.labels), unit })),
      );
      return { series, about: found.map(({ points: _, bounds: __, ...about }) => about) };
    },
  };
  const text: Operation<never, string> = {
    name: 'metrics.text',
    summary: 'Counters and measurements of the device, for a Prometheus server',
    description:
      'Text format 0.0.4. The server asks with a bearer token: `devicectl token` tells where the one of the operator is.',
    params: exactly({}),
    result: { type: 'string' },
    capability: 'system.metrics',
    rest: { method: 'GET', path: '/metrics', text: PROMETHEUS_TYPE },
    rpc: false,
    errors: [],
    run: async () => toPrometheus(await metrics.collect()),
  };
  return [list, text] as readonly Operation<never, unknown>[];
}

const shown = (labels: Readonly<Record<string, string>>) =>
  Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
