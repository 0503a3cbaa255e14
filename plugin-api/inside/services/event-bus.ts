import type { EventEnvelope, Priority } from '../../contract/events.ts';
import { serviceRef } from '../../contract/service-ref.ts';

/** Since the Core started. */
export interface BusStats {
  readonly published: number;
  readonly delivered: number;
  /** Events that a subscriber did not get, by priority. */
  readonly dropped: Readonly<Record<Priority, number>>;
  /** Now. */
  readonly subscribers: number;
  /** Number of the last event. */
  readonly seq: number;
}

/** The kernel's bus for those who speak for others: the events plugin publishes in the name of apps. Provided by the kernel. */
export interface EventBus {
  /** Throws TOPIC_INVALID, PARAMS_INVALID, QUEUE_FULL. Resolves with the envelope once every subscriber's queue has it. */
  publish(event: {
    readonly topic: string;
    readonly payload: object;
    readonly priority?: Priority;
    readonly source: string;
    readonly via?: string;
  }): Promise<EventEnvelope>;
  /** The latest event of each retained topic that matches one of the filters. */
  retained(filters: readonly string[]): Promise<readonly EventEnvelope[]>;
  stats(): Promise<BusStats>;
}

export const eventBus = serviceRef<EventBus>('event-bus', '1.0.0', 'tree');
