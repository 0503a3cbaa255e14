/** The door of what a plugin measures: meters and their service. */
export {
  type MetricData,
  type MetricInfo,
  type MetricPoint,
  type MetricSource,
  type Metrics,
  metrics,
} from '../../services/metrics.ts';
export {
  type Counter,
  type Gauge,
  type Histogram,
  type Labelled,
  type Labels,
  Meter,
  type MetricOptions,
} from './meter.ts';
