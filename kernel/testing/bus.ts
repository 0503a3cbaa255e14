import type {
  BusStats,
  EventEnvelope,
  EventHandler,
  Priority,
  SubscribeOptions,
  Subscription,
} from '@device-core/plugin-api';
import { EventBusCore } from '../bus/event-bus.ts';

/** The Event Bus of a test: that of the device, and every event so far. */
export class TestBus {
  readonly published: EventEnvelope[] = [];
  readonly #bus: EventBusCore;

  constructor(onError: (error: unknown) => void) {
    this.#bus = new EventBusCore({ onError });
  }

  publish(event: {
    readonly topic: string;
    readonly payload: object;
    readonly priority?: Priority | undefined;
    readonly source: string;
  }): EventEnvelope {
    const { priority = 'normal', ...rest } = event;
    const envelope = this.#bus.publish({ ...rest, priority });
    this.published.push(envelope);
    return envelope;
  }

  subscribe(filter: string | readonly string[], fn: EventHandler, options?: SubscribeOptions): Subscription {
    return this.#bus.subscribe(filter, fn, options);
  }

  retained(filters: readonly string[]): EventEnvelope[] {
    return this.#bus.retained(filters);
  }

  stats(): BusStats {
    return this.#bus.stats();
  }
}
