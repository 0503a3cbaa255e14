/** Counters, gauges and histograms of all plugins. A plugin counts in its own memory (class Meter); a reader's call fetches the values. */
import type { ConsentLevel } from '../contract/consent-level.ts';
import { serviceRef } from '../contract/service-ref.ts';

export interface MetricInfo {
  /** Dotted, after the semantic conventions of OpenTelemetry; own ones below `device.`. */
  readonly name: string;
  readonly kind: 'counter' | 'gauge' | 'histogram';
  /** UCUM: `s`, `By`, `1`, `{request}`. */
  readonly unit: string;
  readonly description: string;
  /** The consent that it needs to leave the device. */
  readonly level: Exclude<ConsentLevel, 'off'>;
  /** Why it would be sent at all, for the owner. */
  readonly why: string;
  /** Upper bounds of a histogram, ascending, in `unit`. */
  readonly bounds?: readonly number[];
}

export interface MetricPoint {
  readonly labels: Readonly<Record<string, string>>;
  /** Total of a counter since its plugin started, present value of a gauge, sum of a histogram. */
  readonly value: number;
  readonly count?: number;
  /** Counts of a histogram: one more than there are bounds. */
  readonly buckets?: readonly number[];
}

export interface MetricData extends MetricInfo {
  readonly points: readonly MetricPoint[];
}

/** Source that a plugin registers: a Meter is one. */
export interface MetricSource {
  collect(): Promise<readonly MetricData[]>;
}

export interface Metrics {
  /** Series beyond the limits of the SKU are one series `other`, counted and told in /health. Throws PARAMS_INVALID. */
  register(source: MetricSource): Promise<Disposable>;
  /** Everything there is now, all plugins; `plugin` is among the labels. */
  collect(): Promise<readonly MetricData[]>;
}

export const metrics = serviceRef<Metrics>('metrics', '1.0.0', 'open');
