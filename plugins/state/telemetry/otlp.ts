/**
 * Requests of OTLP/HTTP in their JSON form. Pure. Source:
 * https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding: members in camelCase, 64-bit integers as decimal
 * strings, ids as hexadecimal digits, enumerations as numbers.
 */
import { maybe } from '@device-core/plugin-api';
import type { MetricData, MetricPoint } from '@device-core/plugin-api/telemetry';

/** Source of the telemetry. It has no serial number, no address, no name of a person. */
export interface Resource {
  readonly service: string;
  readonly version: string;
  readonly sku: string;
  /** Random name; `telemetry reset` makes a new one. */
  readonly device: string;
}

/** Milliseconds since the Unix epoch: when counting began, and now. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface LogRecord {
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  /** 1 to 24, as OpenTelemetry has them: 13 is a warning, 17 an error, 21 fatal. */
  readonly severity: number;
  readonly text: string;
  readonly body: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** 32 and 16 hexadecimal digits. */
  readonly traceId?: string;
  readonly spanId?: string;
}

/** AGGREGATION_TEMPORALITY_CUMULATIVE: since the Core started. A push that is lost loses nothing. */
const CUMULATIVE = 2;
const SCOPE = { name: 'device-core' };

export function metricsRequest(resource: Resource, metrics: readonly MetricData[], span: Span): string {
  return JSON.stringify({
    resourceMetrics: [
      {
        resource: resourceOf(resource),
        scopeMetrics: [{ scope: SCOPE, metrics: metrics.map((metric) => metricOf(metric, span)) }],
      },
    ],
  });
}

export function logsRequest(resource: Resource, records: readonly LogRecord[]): string {
  return JSON.stringify({
    resourceLogs: [
      { resource: resourceOf(resource), scopeLogs: [{ scope: SCOPE, logRecords: records.map(recordOf) }] },
    ],
  });
}

function resourceOf({ service, version, sku, device }: Resource): object {
  return {
    attributes: attributes({
      'service.name': service,
      'service.version': version,
      'service.instance.id': device,
      'device.sku': sku,
    }),
  };
}

function metricOf({ name, kind, unit, description, bounds, points }: MetricData, span: Span): object {
  const about = { name, description, unit };
  const times = { startTimeUnixNano: nanos(span.from), timeUnixNano: nanos(span.to) };
  const whole = unit === 'By' || unit.startsWith('{');
  if (kind === 'gauge')
    return {
      ...about,
      gauge: {
        dataPoints: points.map((point) => ({
          attributes: attributes(point.labels),
          timeUnixNano: times.timeUnixNano,
          ...numberOf(point, whole),
        })),
      },
    };
  if (kind === 'counter')
    return {
      ...about,
      sum: {
        dataPoints: points.map((point) => ({
          attributes: attributes(point.labels),
          ...times,
          ...numberOf(point, whole),
        })),
        aggregationTemporality: CUMULATIVE,
        isMonotonic: true,
      },
    };
  const dataPoints = points.map(({ labels, value, count = 0, buckets = [] }) => ({
    attributes: attributes(labels),
    ...times,
    count: String(count),
    sum: value,
    bucketCounts: buckets.map(String),
    explicitBounds: bounds ?? [],
  }));
  return { ...about, histogram: { dataPoints, aggregationTemporality: CUMULATIVE } };
}

function numberOf({ value }: MetricPoint, whole: boolean): object {
  return whole && Number.isSafeInteger(value) ? { asInt: String(value) } : { asDouble: value };
}

function recordOf({ at, severity, text, body, attributes: own, traceId, spanId }: LogRecord): object {
  return {
    timeUnixNano: nanos(at),
    severityNumber: severity,
    severityText: text,
    body: { stringValue: body },
    attributes: attributes(own),
    ...maybe({ traceId, spanId }),
  };
}

function attributes(all: Readonly<Record<string, string>>): readonly object[] {
  return Object.entries(all).map(([key, stringValue]) => ({ key, value: { stringValue } }));
}

/** A JavaScript number of nanoseconds would lose its last digits. */
const nanos = (ms: number) => `${Math.max(0, Math.round(ms))}000000`;
