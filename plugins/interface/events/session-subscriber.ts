/** The subscriptions of one JSON-RPC session: one queue for all its filters, so that its events come once and in order. */
import { setImmediate as turn } from 'node:timers/promises';
import {
  type Bus,
  canonicalFilter,
  type EventEnvelope,
  type Logger,
  type LossReceipt,
  reasonOf,
  type Scope,
  type Session,
  type Subscription,
  settlesWithin,
} from '@device-core/plugin-api';
import type { EventsConfig } from './configuration.ts';
import type { FilterQuota } from './filter-quota.ts';
import { lossEvent } from './loss.ts';
import type { Reader } from './reader.ts';

/** A session that does not read holds up the stop of the plugin for no longer. */
const DRAIN_MS = 500;
/** Turns of the event loop in which the bus hands out what it has. */
const BUS_TURNS = 3;
const UNKNOWN = { low: 0, normal: 0, high: 0, critical: 0 };

/** Members that all subscribers share. */
export interface SubscriberWorld {
  readonly bus: Bus;
  readonly config: EventsConfig;
  readonly scope: Scope;
  readonly log: Logger;
  readonly quota: FilterQuota;
}

export class SessionSubscriber {
  readonly #bus: Bus;
  readonly #session: Session;
  readonly #config: EventsConfig;
  readonly #scope: Scope;
  readonly #log: Logger;
  readonly #reader: Reader;
  readonly #quota: FilterQuota;
  /** As the app wrote them, by their canonical form. */
  readonly #filters = new Map<string, string>();
  /** Readable parts of each filter, and the number of filters with that part: only new and lost parts go to the bus. */
  readonly #parts = new Map<string, readonly string[]>();
  readonly #uses = new Map<string, number>();
  #subscription: Subscription | undefined;
  /** Younger than the subscription, and so released before it. */
  #part: AsyncDisposable | undefined;
  /** The event on its way to the session. */
  #underway: Promise<void> | undefined;
  /** Events wait for READY; those in its snapshot are not sent again. */
  #greeting: Promise<ReadonlySet<number>> | undefined;

  constructor(session: Session, reader: Reader, { bus, config, scope, log, quota }: SubscriberWorld) {
    this.#bus = bus;
    this.#session = session;
    this.#reader = reader;
    this.#config = config;
    this.#scope = scope;
    this.#log = log;
    this.#quota = quota;
  }

  get app(): string {
    return this.#session.app;
  }

  get filters(): readonly string[] {
    return [...this.#filters.values()];
  }

  /** How many filters it has. */
  get size(): number {
    return this.#filters.size;
  }

  /** `greeting` resolves with the `seq` of what READY carries. */
  add(filters: readonly string[], greeting?: Promise<ReadonlySet<number>>): void {
    this.#greeting = greeting;
    const names = filters.map(canonicalFilter);
    for (const [index, name] of names.entries()) {
      if (!this.#filters.has(name)) this.#quota.count(this.app, name, 1);
      this.#filters.set(name, filters[index]!);
    }
    this.#read(names);
  }

  /** Read rights have changed. */
  refresh(): void {
    this.#read([...this.#filters.keys()]);
  }

  /** How many of them there were. */
  remove(filters: readonly string[]): number {
    const names = filters.map(canonicalFilter).filter((name) => this.#filters.delete(name));
    for (const name of names) this.#quota.count(this.app, name, -1);
    this.#read(names);
    return names.length;
  }

  /** Nobody subscribed for the session meanwhile: of these events it got at most those that are retained. */
  missed(after: number, last: number): void {
    if (last > after) void this.#notify(lossEvent({ from: after + 1, to: last, counts: UNKNOWN }, false));
  }

  end(): void {
    for (const name of this.#filters.keys()) this.#quota.count(this.app, name, -1);
    this.#filters.clear();
    this.#parts.clear();
    this.#uses.clear();
    this.#unsubscribe();
  }

  /** Looks anew at what may be read of these filters, held or not any more. */
  #read(names: readonly string[]): void {
    const before = new Set<string>();
    const touched = new Set<string>();
    const use = (part: string, by: 1 | -1): void => {
      const count = this.#uses.get(part) ?? 0;
      if (!touched.has(part) && count > 0) before.add(part);
      touched.add(part);
      if (count + by > 0) this.#uses.set(part, count + by);
      else this.#uses.delete(part);
    };
    for (const name of names) {
      const parts = this.#filters.has(name) ? this.#reader.partsOf(name) : [];
      for (const part of parts) use(part, 1);
      for (const part of this.#parts.get(name) ?? []) use(part, -1);
      if (parts.length > 0) this.#parts.set(name, parts);
      else this.#parts.delete(name);
    }
    const add = [...touched].filter((part) => !before.has(part) && this.#uses.has(part));
    const remove = [...before].filter((part) => !this.#uses.has(part));
    if (this.#uses.size === 0) this.#unsubscribe();
    else if (!this.#subscription) this.#subscribe([...this.#uses.keys()]);
    else if (add.length + remove.length > 0) this.#subscription.change(add, remove);
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
