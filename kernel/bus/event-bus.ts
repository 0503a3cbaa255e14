/**
 * The Event Bus (decisions D8). An event is matched when it is published and stored once, in the inbox; a drain hands
 * it to its subscribers in the order of `seq`. Only a subscriber that is busy (its handler returned a promise that has
 * not settled) has a queue.
 *
 * Retained for late subscribers: the latest event of system.presence, system.network, system.power, system.time and update.state, and of
 * app.state and plugin.state the latest for each `payload.app` or `payload.plugin` (the oldest of them goes beyond `limits.retained`).
 */

import {
  CoreError,
  changedFilters,
  type EventEnvelope,
  type EventHandler,
  type LossReceipt,
  matchesTopic,
  PRIORITIES,
  type Priority,
  type SubscribeOptions,
  type Subscription,
} from '@device-core/plugin-api';
import type { BusStats } from '@device-core/plugin-api/inside/services/event-bus';
import { EventQueue, LEVEL, noCounts } from './event-queue.ts';
import { invalid, payloadSize, SMALL, sizeOf } from './payload-size.ts';
import { TopicIndex } from './topic-index.ts';

const LIMITS = {
  /** Events, and bytes of payload as JSON, that wait for one busy subscriber. */
  queue: 256,
  bytes: 1 << 20,
  /** Bytes of one payload as JSON. */
  payload: 64 << 10,
  /** Events and bytes that wait for the drain; see INBOX_SHARE. */
  inbox: 4096,
  inboxBytes: 16 << 20,
  /** Milliseconds of deliveries in one turn of the event loop. */
  turnMs: 4,
  /** Subjects remembered of each of app.state and plugin.state. */
  retained: 128,
  /** Topics whose subscribers are remembered. */
  topics: 8192,
};
export type BusLimits = Readonly<typeof LIMITS>;
/** How much of the inbox `low`, `normal`, `high` and `critical` may fill: the last refusals hit what matters most. */
const INBOX_SHARE = [0.5, 0.75, 0.875, 1] as const;
const RETRY_AFTER_MS = 10;
/** The drain looks at the clock only so often, and so gets on however late its turn comes. */
const DELIVERIES_PER_CHECK = 1024;
/** Retained topics, and the member of the payload that tells their subjects apart. */
const RETAINED: ReadonlyMap<string, string> = new Map([
  ...['system.presence', 'system.network', 'system.power', 'system.time', 'update.state'].map(
    (it) => [it, ''] as const,
  ),
  ['app.state', 'app'],
  ['plugin.state', 'plugin'],
]);

export interface BusOptions {
  readonly limits?: Partial<BusLimits>;
  /** A handler, onDrop or onCutOff threw or rejected; the others never notice. */
  readonly onError?: (error: unknown) => void;
  readonly now?: () => number;
  /** Deliveries in a row begin at this time (performance.now()); 0: they are over. */
  readonly onRow?: (began: number) => void;
}

type Publication = Pick<EventEnvelope, 'topic' | 'payload' | 'source' | 'via'> & { readonly priority?: Priority };

const IDLE = 0;
const BUSY = 1;
const ENDED = 2;

interface Subscriber {
  mark: number;
  state: number;
  fn: (event: EventEnvelope) => unknown;
  options: SubscribeOptions;
  /** Segments of its filters by canonical filter. */
  paths: Map<string, readonly string[]>;
  /** Retained events that it is still to get, before its queue. */
  snapshot: EventEnvelope[];
  queue: EventQueue | undefined;
  /** The drain has already paused for it since it last took an event. */
  awaited: boolean;
}

export class EventBusCore {
  readonly #limits: BusLimits;
  readonly #onError: (error: unknown) => void;
  readonly #now: () => number;
  readonly #onRow: (began: number) => void;
  readonly #index: TopicIndex<Subscriber>;
  readonly #subscribers = new Set<Subscriber>();
  readonly #retained = new Map<string, Map<unknown, EventEnvelope>>();
  readonly #dropped = noCounts();
  #delivered = 0;
  #seq = 0;
  #ts = 0;
  // The inbox: a ring in three parallel arrays, so that an event in flight costs no extra object.
  readonly #events: (EventEnvelope | undefined)[];
  readonly #targets: (readonly Subscriber[] | undefined)[];
  readonly #sizes: number[];
  readonly #mask: number;
  #head = 0;
  #waiting = 0;
  #waitingBytes = 0;
  #scheduled = false;
  #pause = false;
  #closed = false;
  readonly #drainSoon = (): void => this.#drain();

  constructor(options: BusOptions = {}) {
    this.#limits = { ...LIMITS, ...options.limits };
    this.#onError = options.onError ?? (() => undefined);
    this.#now = options.now ?? Date.now;
    this.#onRow = options.onRow ?? (() => undefined);
    this.#index = new TopicIndex(this.#limits.topics);
    const capacity = 2 ** Math.ceil(Math.log2(Math.max(2, this.#limits.inbox)));
    this.#mask = capacity - 1;
    this.#events = new Array(capacity).fill(undefined);
    this.#targets = new Array(capacity).fill(undefined);
    this.#sizes = new Array(capacity).fill(0);
  }

  /**
   * The payload belongs to the bus from now on: it is shared, not copied.
   * Throws TOPIC_INVALID, PARAMS_INVALID, QUEUE_FULL (`retryAfterMs`), UNAVAILABLE after close(), and what the hook throws.
   */
  publish(publication: Publication): EventEnvelope {
    const { topic, payload, source, via, priority = 'normal' } = publication;
    this.#checkOpen();
    const level = LEVEL[priority];
    if (typeof level !== 'number') throw invalid('priority', `it must be one of ${PRIORITIES.join(', ')}`);
    const targets = this.#index.lookup(topic);
    const size = payloadSize(payload, this.#limits.payload, topic);
    const share = INBOX_SHARE[level]!;
    if (this.#waiting >= this.#limits.inbox * share || this.#waitingBytes + size > this.#limits.inboxBytes * share)
      throw new CoreError('QUEUE_FULL', {
        what: topic,
        reason: `${this.#waiting} events wait for delivery`,
        retryAfterMs: RETRY_AFTER_MS,
      });
    // Read once for a burst, as the event loop does with its own clock: reading it costs as much as the rest of a publish.
    if (!this.#scheduled || (this.#seq & 15) === 0) this.#ts = this.#now();
    const ts = this.#ts;
    this.#seq += 1;
    const seq = this.#seq;
    const event: EventEnvelope =
      via === undefined
        ? { topic, ts, seq, source, priority, payload }
        : { topic, ts, seq, source, via, priority, payload };
    if (RETAINED.has(topic)) this.#retain(event);
    if (targets.length > 0) this.#accept(event, targets, size);
    return event;
  }

  /** Several filters that overlap deliver an event once. Throws FILTER_INVALID, UNAVAILABLE after close(). */
  subscribe(filters: string | readonly string[], fn: EventHandler, options: SubscribeOptions = {}): Subscription {
    this.#checkOpen();
    const subscriber: Subscriber = {
      mark: 0,
      state: IDLE,
      fn,
      options,
      paths: new Map(),
      snapshot: [],
      queue: undefined,
      awaited: false,
    };
    this.#refilter(subscriber, [filters].flat(), []);
    this.#subscribers.add(subscriber);
    return {
      update: (wanted) => {
        if (subscriber.state !== ENDED) this.#refilter(subscriber, [wanted].flat(), [...subscriber.paths.keys()]);
      },
      change: (add, remove) => {
        if (subscriber.state !== ENDED) this.#refilter(subscriber, add, remove);
      },
      [Symbol.dispose]: () => this.#end(subscriber),
    };
  }

  /** The latest event of each retained topic and subject that matches a filter, in the order of `seq`. Throws FILTER_INVALID. */
  retained(filters: string | readonly string[]): EventEnvelope[] {
    const list = [filters].flat();
    return [...this.#retained]
      .filter(([topic]) => list.some((filter) => matchesTopic(filter, topic)))
      .flatMap(([, events]) => [...events.values()])
      .sort((a, b) => a.seq - b.seq);
  }

  stats(): BusStats {
    const seq = this.#seq;
    const dropped = { ...this.#dropped };
    return { published: seq, delivered: this.#delivered, dropped, subscribers: this.#subscribers.size, seq };
  }

  /** Ends every subscription; what still waits for them is counted as dropped. */
  close(): void {
    this.#closed = true;
    for (; this.#waiting > 0; this.#waiting--, this.#head++) {
      const at = this.#head & this.#mask;
      const { priority } = this.#events[at]!;
      for (const { state } of this.#targets[at]!) if (state !== ENDED) this.#dropped[priority]++;
    }
    this.#events.fill(undefined);
    this.#targets.fill(undefined);
    for (const subscriber of this.#subscribers) {
      this.#queueOf(subscriber).abandon(subscriber.snapshot);
      this.#end(subscriber);
    }
    this.#retained.clear();
  }

  #refilter(subscriber: Subscriber, add: readonly string[], remove: readonly string[]): void {
    const { gone, fresh } = changedFilters(subscriber.paths, add, remove);
    const late = subscriber.options.retained === false ? [] : this.retained([...fresh.keys()]);
    subscriber.snapshot.push(...late.filter(({ topic }) => !this.#index.lookup(topic).includes(subscriber)));
    for (const [name, path] of gone) if (subscriber.paths.delete(name)) this.#index.remove(path, subscriber);
    for (const path of fresh.values()) this.#index.add(path, subscriber);
    for (const [name, path] of fresh) subscriber.paths.set(name, path);
    if (subscriber.snapshot.length === 0 || subscriber.state === BUSY) return;
    subscriber.state = BUSY;
    queueMicrotask(() => this.#resume(subscriber));
  }

  #checkOpen(): void {
    if (this.#closed) throw new CoreError('UNAVAILABLE', { what: 'the event bus', reason: 'it is closed' });
  }

  #retain(event: EventEnvelope): void {
    const subject = (event.payload as Record<string, unknown>)[RETAINED.get(event.topic)!];
    const events = this.#retained.get(event.topic) ?? new Map<unknown, EventEnvelope>();
    this.#retained.set(event.topic, events);
    events.delete(subject);
    events.set(subject, event);
    if (events.size > this.#limits.retained) events.delete(events.keys().next().value);
  }

  #accept(event: EventEnvelope, targets: readonly Subscriber[], size: number): void {
    const at = (this.#head + this.#waiting++) & this.#mask;
    this.#events[at] = event;
    this.#targets[at] = targets;
    this.#sizes[at] = size;
    this.#waitingBytes += size;
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(this.#drainSoon);
  }

  #drain(): void {
    const began = performance.now();
    const end = began + this.#limits.turnMs;
    this.#onRow(began);
    let untilCheck = DELIVERIES_PER_CHECK;
    while (this.#waiting > 0 && !this.#pause) {
      const at = this.#head;
      const event = this.#events[at]!;
      const targets = this.#targets[at]!;
      const size = this.#sizes[at]!;
      this.#events[at] = undefined;
      this.#targets[at] = undefined;
      this.#head = (at + 1) & this.#mask;
      this.#waiting--;
      this.#waitingBytes -= size;
      let bytes = -1;
      for (let i = 0; i < targets.length; i++) {
        const subscriber = targets[i]!;
        if (subscriber.state === IDLE) this.#deliver(subscriber, event);
        else if (subscriber.state === BUSY) {
          if (bytes < 0) bytes = size > SMALL ? size : sizeOf(event.payload, size);
          this.#enqueue(subscriber, event, bytes);
        }
      }
      untilCheck -= targets.length;
      if (untilCheck > 0) continue;
      if (performance.now() > end) break;
      untilCheck = DELIVERIES_PER_CHECK;
    }
    this.#onRow(0);
    this.#pause = false;
    this.#scheduled = this.#waiting > 0;
    if (this.#scheduled) setImmediate(this.#drainSoon);
  }

  /** True: the handler returned a promise, and the subscriber is busy until it settles. */
  #deliver(subscriber: Subscriber, event: EventEnvelope): boolean {
    this.#delivered++;
    try {
      const result = subscriber.fn(event) as Promise<void> | undefined;
      if (result === undefined || typeof result?.then !== 'function') return false;
      if (subscriber.state === IDLE) subscriber.state = BUSY;
      result.then(
        () => this.#resume(subscriber),
        (error) => {
          this.#onError(error);
          this.#resume(subscriber);
        },
      );
      return true;
    } catch (error) {
      this.#onError(error);
      return false;
    }
  }

  #enqueue(subscriber: Subscriber, event: EventEnvelope, bytes: number): void {
    const queue = this.#queueOf(subscriber);
    if (!queue.push(event, bytes)) {
      const { onCutOff } = subscriber.options;
      const loss = queue.abandon([...subscriber.snapshot, event]);
      this.#end(subscriber);
      this.#tell(onCutOff, loss);
    } else if (!subscriber.awaited && queue.half) {
      // A handler that awaits nothing but promises catches up as soon as it may run: the drain lets it, once for each event that it takes.
      subscriber.awaited = true;
      this.#pause = true;
    }
  }

  /** The handler is free again: the receipt, then what waits. */
  #resume(subscriber: Subscriber): void {
    subscriber.awaited = false;
    while (subscriber.state === BUSY) {
      this.#tell(subscriber.options.onDrop, subscriber.queue?.takeLoss());
      if (subscriber.state !== BUSY) return;
      const event = subscriber.snapshot.shift() ?? subscriber.queue?.shift();
      if (!event) subscriber.state = IDLE;
      else if (this.#deliver(subscriber, event)) return;
    }
  }

  #tell(listener: ((loss: LossReceipt) => void) | undefined, loss: LossReceipt | undefined): void {
    if (!listener || !loss) return;
    try {
      listener(loss);
    } catch (error) {
      this.#onError(error);
    }
  }

  #queueOf(subscriber: Subscriber): EventQueue {
    const { queue = this.#limits.queue, bytes = this.#limits.bytes } = subscriber.options;
    subscriber.queue ??= new EventQueue(queue, bytes, this.#dropped);
    return subscriber.queue;
  }

  /** Idempotent. Topics remembered by the index may still hold the subscriber: it lets go of everything. */
  #end(subscriber: Subscriber): void {
    if (!this.#subscribers.delete(subscriber)) return;
    for (const path of subscriber.paths.values()) this.#index.remove(path, subscriber);
    Object.assign(subscriber, {
      state: ENDED,
      fn: () => undefined,
      options: {},
      snapshot: [],
      queue: undefined,
      paths: new Map(),
    });
  }
}
