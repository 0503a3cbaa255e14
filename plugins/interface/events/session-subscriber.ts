/** The subscriptions of one JSON-RPC session: one queue for all its filters, so that its events come once and in order. */
import { setImmediate as turn } from 'node:timers/promises';
import {
  type Bus,
  type EventEnvelope,
  type Logger,
  type LossReceipt,
  parseFilter,
  reasonOf,
  type Scope,
  type Session,
  type Subscription,
  settlesWithin,
} from '@device-core/plugin-api';
import type { EventsConfig } from './configuration.ts';
import { lossEvent } from './loss.ts';
import type { Reader } from './reader.ts';

/** A session that does not read holds up the stop of the plugin for no longer. */
const DRAIN_MS = 500;
/** Turns of the event loop in which the bus hands out what it has. */
const BUS_TURNS = 3;
const UNKNOWN = { low: 0, normal: 0, high: 0, critical: 0 };

/** What every subscriber has in common. */
export interface SubscriberWorld {
  readonly bus: Bus;
  readonly config: EventsConfig;
  readonly scope: Scope;
  readonly log: Logger;
}

export class SessionSubscriber {
  readonly #bus: Bus;
  readonly #session: Session;
  readonly #config: EventsConfig;
  readonly #scope: Scope;
  readonly #log: Logger;
  readonly #reader: Reader;
  /** As the app wrote them, by their canonical form. */
  readonly #filters = new Map<string, string>();
  #subscription: Subscription | undefined;
  /** Younger than the subscription, and so released before it. */
  #part: AsyncDisposable | undefined;
  /** The event on its way to the session. */
  #underway: Promise<void> | undefined;
  /** Until READY is made, events wait; what it carries in its snapshot is not sent again. */
  #greeting: Promise<ReadonlySet<number>> | undefined;

  constructor(session: Session, reader: Reader, { bus, config, scope, log }: SubscriberWorld) {
    this.#bus = bus;
    this.#session = session;
    this.#reader = reader;
    this.#config = config;
    this.#scope = scope;
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
    this.refresh();
  }

  /** What may be read has changed. */
  refresh(): void {
    const filters = this.#reader.narrowed(this.canonical);
    if (filters.length === 0) this.#unsubscribe();
    else if (this.#subscription) this.#subscription.update(filters);
    else this.#subscribe(filters);
  }

  /** How many of them there were. */
  remove(filters: readonly string[]): number {
    const removed = filters.filter((filter) => this.#filters.delete(canonical(filter))).length;
    if (removed > 0) this.refresh();
    return removed;
  }

  /** Nobody subscribed for the session meanwhile: of these events it got at most those that are retained. */
  missed(after: number, last: number): void {
    if (last > after) void this.#notify(lossEvent({ from: after + 1, to: last, counts: UNKNOWN }, false));
  }

  end(): void {
    this.#filters.clear();
    this.#unsubscribe();
  }

  #unsubscribe(): void {
    this.#subscription?.[Symbol.dispose]();
    this.#subscription = undefined;
    void this.#part?.[Symbol.asyncDispose]();
    this.#part = undefined;
  }

  #subscribe(filters: readonly string[]): void {
    const take = (event: EventEnvelope) => (this.#reader.mayRead(event) ? this.#take(event) : undefined);
    this.#subscription = this.#bus.subscribe(filters, take, {
      queue: this.#config.queue,
      bytes: this.#config.bytes,
      onDrop: (loss) => this.#tell(loss, false),
      onCutOff: (loss) => {
        this.end();
        this.#tell(loss, true);
      },
    });
    const part = this.#scope.child(`events for a session of ${this.app}`);
    part.defer('events underway', () => this.#drain());
    this.#part = part;
  }

  /** The plugin stops: the session gets what is queued for it, unless it does not read. */
  async #drain(): Promise<void> {
    if (!this.#subscription) return;
    const { clock } = this.#scope;
    const end = clock.monotonic() + DRAIN_MS;
    for (let i = 0; i < BUS_TURNS; i++) await turn();
    for (let last: Promise<void> | undefined; this.#underway !== last; ) {
      last = this.#underway;
      if (last && !(await settlesWithin(clock, end - clock.monotonic(), last))) break;
    }
  }

  #take(event: EventEnvelope): Promise<void> {
    const underway = this.#forward(event);
    this.#underway = underway;
    return underway;
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
