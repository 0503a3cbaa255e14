/** The subscriptions of one JSON-RPC session: one queue for all its filters, so that its events come once and in order. */
import {
  type Bus,
  type EventEnvelope,
  type Logger,
  type LossReceipt,
  parseFilter,
  reasonOf,
  type Session,
  type Subscription,
} from '@device-core/plugin-api';
import type { EventsConfig } from './configuration.ts';
import { lossEvent } from './loss.ts';

export class SessionSubscriber {
  readonly #bus: Bus;
  readonly #session: Session;
  readonly #config: EventsConfig;
  readonly #log: Logger;
  /** As the app wrote them, by their canonical form. */
  readonly #filters = new Map<string, string>();
  #subscription: Subscription | undefined;
  /** Until READY is made, events wait; what it carries in its snapshot is not sent again. */
  #greeting: Promise<ReadonlySet<number>> | undefined;

  constructor(bus: Bus, session: Session, config: EventsConfig, log: Logger) {
    this.#bus = bus;
    this.#session = session;
    this.#config = config;
    this.#log = log;
  }

  get app(): string {
    return this.#session.app;
  }

  /** Canonical filters. */
  get canonical(): readonly string[] {
    return [...this.#filters.keys()];
  }

  get filters(): readonly string[] {
    return [...this.#filters.values()];
  }

  /** `greeting` resolves with the `seq` of what READY carries. */
  add(filters: readonly string[], greeting?: Promise<ReadonlySet<number>>): void {
    for (const filter of filters) this.#filters.set(canonical(filter), filter);
    this.#greeting = greeting;
    if (this.#subscription) this.#subscription.update(this.canonical);
    else if (this.#filters.size > 0) this.#subscribe();
  }

  /** How many of them there were. */
  remove(filters: readonly string[]): number {
    const removed = filters.filter((filter) => this.#filters.delete(canonical(filter))).length;
    if (this.#filters.size === 0) this.end();
    else if (removed > 0) this.#subscription?.update(this.canonical);
    return removed;
  }

  end(): void {
    this.#filters.clear();
    this.#subscription?.[Symbol.dispose]();
    this.#subscription = undefined;
  }

  #subscribe(): void {
    this.#subscription = this.#bus.subscribe(this.canonical, (event) => this.#forward(event), {
      queue: this.#config.queue,
      bytes: this.#config.bytes,
      onDrop: (loss) => this.#tell(loss, false),
      onCutOff: (loss) => {
        this.end();
        this.#tell(loss, true);
      },
    });
  }

  /** Resolves when the session has room for more, so that the bus queues for a slow one. */
  async #forward(event: EventEnvelope): Promise<void> {
    if (this.#greeting) {
      const known = await this.#greeting;
      if (known.has(event.seq)) return;
    }
    await this.#notify(event);
  }

  async #notify(event: EventEnvelope): Promise<void> {
    try {
      await this.#session.notify('event', event);
    } catch (thrown) {
      // The end of the session ends the subscription, too; while it lives, one event that it cannot take must not stop the next.
      if (this.#session.signal.aborted) return;
      this.#log.warn({ app: this.app, topic: event.topic, reason: reasonOf(thrown) }, 'cannot deliver an event');
    }
  }

  #tell(loss: LossReceipt, cutOff: boolean): void {
    this.#log.warn({ app: this.app, ...loss, cutOff }, 'a session reads too slowly and lost events');
    void this.#notify(lossEvent(loss, cutOff));
  }
}

export function canonical(filter: string): string {
  return parseFilter(filter).join('.');
}
