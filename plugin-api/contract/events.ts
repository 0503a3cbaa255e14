/** Event envelopes and subscriptions (specification "Event envelope", decisions D8). */

export const PRIORITIES = ['low', 'normal', 'high', 'critical'] as const;
/** Under pressure low goes first, then normal; high keeps the newest per topic; critical is never dropped. */
export type Priority = (typeof PRIORITIES)[number];

export interface EventEnvelope {
  readonly topic: string;
  /** Integer milliseconds since the Unix epoch, set by the Core. */
  readonly ts: number;
  /** Gapless per bus, so that a subscriber can see a loss. */
  readonly seq: number;
  /**
   * Origin, set by the Core: `core` for the Core and its plugins, `app.<id>`, `operator`, or `test.app.<id>` for the
   * operator's test of an app.
   */
  readonly source: string;
  /** Plugin that published an event of the Core. Absent where it was the kernel. */
  readonly via?: string;
  readonly priority: Priority;
  readonly payload: object;
}

/** Loss of a subscriber: the range of `seq` it spans and how many events of each priority. */
export interface LossReceipt {
  readonly from: number;
  readonly to: number;
  readonly counts: Readonly<Record<Priority, number>>;
}

export interface SubscribeOptions {
  /** Events kept while the subscriber is busy; 256 if absent. */
  readonly queue?: number;
  /** Bytes kept while the subscriber is busy (payload size as JSON); 1 MiB if absent. */
  readonly bytes?: number;
  /** Called once per stretch of lost events, before the next event is delivered. */
  readonly onDrop?: (loss: LossReceipt) => void;
  /** Called when a critical event did not fit: the subscription is over. */
  readonly onCutOff?: (loss: LossReceipt) => void;
  /** Deliver the latest event of each retained topic that matches, first. Default true. */
  readonly retained?: boolean;
}

/** A handler that returns a promise is busy until it settles; events queue up meanwhile. */
export type EventHandler = (event: EventEnvelope) => void | Promise<void>;

/** Ends by dispose. */
export interface Subscription extends Disposable {
  /** Replaces the filters. What is queued stays; retained events that only the new filters match are delivered. Throws FILTER_INVALID. */
  update(filter: string | readonly string[]): void;
  /** The same for a few of many filters: the others are not looked at. One that is in both lists stays. Throws FILTER_INVALID. */
  change(add: readonly string[], remove: readonly string[]): void;
}

export interface Bus {
  /** Throws TOPIC_INVALID, PARAMS_INVALID (payload over 64 KiB), TOPIC_DENIED (outside the manifest's `publishes`), QUEUE_FULL. */
  publish(topic: string, payload: object, priority?: Priority): void;
  /** Throws FILTER_INVALID. Ends with the plugin's scope, or earlier by dispose. */
  subscribe(filter: string | readonly string[], fn: EventHandler, options?: SubscribeOptions): Subscription;
}
