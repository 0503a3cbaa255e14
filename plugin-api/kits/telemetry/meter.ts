/** Metrics of one plugin, in its own memory: counting costs an addition, whatever the level it runs at. */
import type { MetricData, MetricInfo, MetricPoint, MetricSource } from '../../services/metrics.ts';

export type Labels = Readonly<Record<string, string>>;
export type MetricOptions = Omit<MetricInfo, 'name' | 'kind' | 'bounds' | 'unit'> & { readonly unit?: string };

export interface Counter {
  /** A value below zero, or one that is no number, is left out. */
  add(value?: number): void;
}
export interface Gauge {
  set(value: number): void;
}
export interface Histogram {
  record(value: number): void;
}
/** A metric with labels: `of()` gives the series of one set of them. Keep what it gives where it is counted often. */
export interface Labelled<S> {
  of(labels: Labels): S;
}

/** Series of one metric in one plugin; what is beyond is one series with the label `other: true`. */
const MOST_SERIES = 20;
/** Seconds, for what people wait for. */
const BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const OTHER: Labels = { other: 'true' };

abstract class Series {
  readonly labels: Labels;
  value = 0;

  constructor(labels: Labels) {
    this.labels = labels;
  }

  point(): MetricPoint {
    return { labels: this.labels, value: this.value };
  }
}

class CounterSeries extends Series implements Counter {
  add(value = 1): void {
    if (value > 0 && value < Number.POSITIVE_INFINITY) this.value += value;
  }
}

class GaugeSeries extends Series implements Gauge {
  set(value: number): void {
    if (Number.isFinite(value)) this.value = value;
  }
}

class HistogramSeries extends Series implements Histogram {
  readonly #bounds: readonly number[];
  readonly #buckets: number[];
  #count = 0;

  constructor(labels: Labels, bounds: readonly number[]) {
    super(labels);
    this.#bounds = bounds;
    this.#buckets = new Array<number>(bounds.length + 1).fill(0);
  }

  record(value: number): void {
    if (!Number.isFinite(value)) return;
    let at = 0;
    while (at < this.#bounds.length && value > this.#bounds[at]!) at++;
    this.#buckets[at]!++;
    this.#count++;
    this.value += value;
  }

  override point(): MetricPoint {
    return { ...super.point(), count: this.#count, buckets: [...this.#buckets] };
  }
}

class Metric<S extends Series> implements Labelled<S> {
  readonly info: MetricInfo;
  readonly #make: (labels: Labels) => S;
  readonly #series = new Map<string, S>();
  #other: S | undefined;
  #plain: S | undefined;

  constructor(info: MetricInfo, make: (labels: Labels) => S) {
    this.info = info;
    this.#make = make;
  }

  /** The series without labels; it is there when it was first counted. */
  get plain(): S {
    this.#plain ??= this.of({});
    return this.#plain;
  }

  of(labels: Labels): S {
    const key = JSON.stringify(Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1)));
    const known = this.#series.get(key);
    if (known) return known;
    if (this.#series.size >= MOST_SERIES) {
      this.#other ??= this.#make(OTHER);
      return this.#other;
    }
    const series = this.#make({ ...labels });
    this.#series.set(key, series);
    return series;
  }

  data(): MetricData {
    const all = [...this.#series.values(), ...(this.#other ? [this.#other] : [])];
    return { ...this.info, points: all.map((one) => one.point()) };
  }
}

/**
 * `const greetings = meter.counter('device.hello.greetings', {...})`, then `greetings.add()`. A metric may have labels:
 * `greetings.of({ lang }).add()`; one without any has one series. Hand the meter to the service:
 * `host.when(metrics, async (service, scope) => void scope.use('metrics', await service.register(meter)))`.
 */
export class Meter implements MetricSource {
  readonly #metrics = new Map<string, Metric<Series>>();

  counter(name: string, options: MetricOptions): Counter & Labelled<Counter> {
    const metric = this.#add({ name, kind: 'counter', unit: '1', ...options }, (labels) => new CounterSeries(labels));
    return { of: (labels) => metric.of(labels), add: (value) => metric.plain.add(value) };
  }

  gauge(name: string, options: MetricOptions): Gauge & Labelled<Gauge> {
    const metric = this.#add({ name, kind: 'gauge', unit: '1', ...options }, (labels) => new GaugeSeries(labels));
    return { of: (labels) => metric.of(labels), set: (value) => metric.plain.set(value) };
  }

  histogram(
    name: string,
    options: MetricOptions & { readonly bounds?: readonly number[] },
  ): Histogram & Labelled<Histogram> {
    const { bounds = BOUNDS } = options;
    const metric = this.#add(
      { name, kind: 'histogram', unit: 's', ...options, bounds },
      (labels) => new HistogramSeries(labels, bounds),
    );
    return { of: (labels) => metric.of(labels), record: (value) => metric.plain.record(value) };
  }

  async collect(): Promise<readonly MetricData[]> {
    return [...this.#metrics.values()].map((metric) => metric.data());
  }

  #add<S extends Series>(info: MetricInfo, make: (labels: Labels) => S): Metric<S> {
    if (this.#metrics.has(info.name)) throw new Error(`metric ${info.name} is there already`);
    const metric = new Metric<S>(info, make);
    this.#metrics.set(info.name, metric as unknown as Metric<Series>);
    return metric;
  }
}
