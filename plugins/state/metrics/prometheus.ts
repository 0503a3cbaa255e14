/** Metrics as Prometheus reads them, text format 0.0.4. Pure. Source: https://prometheus.io/docs/instrumenting/exposition_formats/ */
import type { MetricData, MetricInfo, MetricPoint } from '@device-core/plugin-api/telemetry';

export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Units that stand in names; what is counted in braces does not. */
const SUFFIXES: Readonly<Record<string, string>> = {
  s: 'seconds',
  ms: 'milliseconds',
  us: 'microseconds',
  By: 'bytes',
  '%': 'percent',
  Cel: 'celsius',
  V: 'volts',
  Hz: 'hertz',
};

/** Writes the first of metrics that share a name in Prometheus; a comment names the others. */
export function toPrometheus(metrics: readonly MetricData[]): string {
  let text = '';
  const taken = new Set<string>();
  for (const metric of metrics) {
    const name = nameOf(metric);
    const names = metric.kind === 'histogram' ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name];
    if (names.some((one) => taken.has(one))) {
      text += `# ${metric.name} is left out: here its name would be ${name}, which another has\n`;
      continue;
    }
    for (const one of names) taken.add(one);
    text += `# HELP ${name} ${help(metric.description)}\n# TYPE ${name} ${metric.kind}\n`;
    for (const point of metric.points) {
      if (metric.kind === 'histogram') text += histogram(name, metric, point);
      else text += `${name}${labels(point.labels)} ${point.value}\n`;
    }
  }
  return text;
}

function nameOf({ name, kind, unit }: MetricInfo): string {
  const plain = name.replaceAll('.', '_');
  const suffix = SUFFIXES[unit] ?? (unit === '1' && kind === 'gauge' ? 'ratio' : undefined);
  const withUnit = suffix === undefined || plain.endsWith(`_${suffix}`) ? plain : `${plain}_${suffix}`;
  return kind === 'counter' && !withUnit.endsWith('_total') ? `${withUnit}_total` : withUnit;
}

function histogram(
  name: string,
  { bounds = [] }: MetricInfo,
  { labels: own, value, count = 0, buckets = [] }: MetricPoint,
): string {
  const all = labels(own);
  const open = `${name}_bucket${all === '' ? '{' : `${all.slice(0, -1)},`}le="`;
  let sum = 0;
  let rows = '';
  for (const [at, bound] of bounds.entries()) {
    sum += buckets[at] ?? 0;
    rows += `${open}${bound}"} ${sum}\n`;
  }
  return `${rows}${open}+Inf"} ${count}\n${name}_sum${all} ${value}\n${name}_count${all} ${count}\n`;
}

function labels(all: Readonly<Record<string, string>>): string {
  let pairs = '';
  for (const name in all) {
    const plain = name.includes('.') ? name.replaceAll('.', '_') : name;
    pairs += `${pairs === '' ? '' : ','}${plain}="${quoted(all[name]!)}"`;
  }
  return pairs === '' ? '' : `{${pairs}}`;
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '"': '\\"', '\n': '\\n' };
const SIGNS = /[\\"\n]/;
const quoted = (text: string) => (SIGNS.test(text) ? text.replace(/[\\"\n]/g, (one) => ESCAPES[one]!) : text);
/** Has no newline any more. */
const help = (text: string) => text.replaceAll('\\', '\\\\');
