/** The door of what a device says about itself: metrics, consent, and the outbox through which it leaves. */
export { CONSENT_LEVELS, type ConsentLevel, covers } from '../../contract/consent-level.ts';
export {
  type MetricData,
  type MetricInfo,
  type MetricPoint,
  type MetricSource,
  type Metrics,
  metrics,
} from '../../services/metrics.ts';
export {
  type Destination,
  type Outbox,
  type OutboxLoss,
  type OutboxQueue,
  type Outgoing,
  outbox,
  type Queued,
  type QueueState,
  type Sent,
} from '../../services/outbox.ts';
export { type ConsentTold, type Telemetry, telemetry } from '../../services/telemetry.ts';
export {
  type Counter,
  type Gauge,
  type Histogram,
  type Labelled,
  type Labels,
  Meter,
  type MetricOptions,
} from './meter.ts';
