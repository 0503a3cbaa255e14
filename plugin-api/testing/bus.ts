import { CoreError } from '../errors.ts';
import {
  type EventEnvelope,
  type EventHandler,
  PRIORITIES,
  type Priority,
  type SubscribeOptions,
  type Subscription,
} from '../events.ts';
import { EventQueue, noCounts } from '../host/event-queue.ts';
import { sizeOf } from '../host/payload-size.ts';
import { TopicIndex } from '../host/topic-index.ts';
import type { BusStats } from '../services/event-bus.ts';
import { matchesTopic, parseFilter } from '../topics.ts';

const RETAINED = ['system.presence', 'system.network', 'system.power', 'app.state', 'plugin.state'];

interface Subscriber {
  mark: number;
  /** Segments of its filters by canonical filter. */
  paths: ReadonlyMap<string, readonly string[]>;
  readonly fn: EventHandler;
  readonly options: SubscribeOptions;
  readonly queue: EventQueue;
  busy: boolean;
}

/**
 * The Event Bus of a test: topics match by the index of the real one, one queue per subscriber with its loss rules, delivery on the microtask queue, a handler that
 * returns a promise is busy until it settles.
 */
export class TestBus {
  readonly published: EventEnvelope[] = [];
  readonly #index = new TopicIndex<Subscriber>(1024);
  readonly #subscribers = new Set<Subscriber>();
  readonly #retained = new Map<string, EventEnvelope>();
  readonly #onError: (error: unknown) => void;
  readonly #dropped = noCounts();
  #seq = 0;
  #delivered = 0;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  get subscribers(): number {
    return this.#subscribers.size;
  }

  publish(event: {
    readonly topic: string;
    readonly payload: object;
    readonly priority?: Priority | undefined;
    readonly source: string;
  }): EventEnvelope {
    const { topic, payload, priority = 'normal', source } = event;
    const matching = this.#index.lookup(topic);
    if (!PRIORITIES.includes(priority)) {
      throw new CoreError('PARAMS_INVALID', {
        where: 'priority',
        reason: `"${priority}" is none of ${PRIORITIES.join(', ')}`,
      });
    }
    const envelope: EventEnvelope = { topic, ts: Date.now(), seq: ++this.#seq, source, priority, payload };
    this.published.push(envelope);
    if (RETAINED.includes(topic)) this.#retained.set(topic, envelope);
    for (const subscriber of matching) this.#deliver(subscriber, envelope);
    return envelope;
  }

  subscribe(filter: string | readonly string[], fn: EventHandler, options: SubscribeOptions = {}): Subscription {
    const queue = new EventQueue(options.queue ?? 256, options.bytes ?? 1 << 20, this.#dropped);
    const subscriber: Subscriber = { mark: 0, paths: new Map(), fn, options, queue, busy: false };
    const index = (verb: 'add' | 'remove', paths: Subscriber['paths'], but: Subscriber['paths']): void => {
      for (const [name, path] of paths) if (!but.has(name)) this.#index[verb](path, subscriber);
    };
    const update = (wanted: string | readonly string[]): void => {
      const filters = typeof wanted === 'string' ? [wanted] : [...wanted];
      const paths = new Map(filters.map(parseFilter).map((path) => [path.join('.'), path]));
      const former = subscriber.paths;
      index('remove', former, paths);
      index('add', paths, former);
      subscriber.paths = paths;
      if (options.retained === false) return;
      const known = this.retained([...former.keys()]);
      for (const event of this.retained(filters)) if (!known.includes(event)) this.#deliver(subscriber, event);
    };
    update(filter);
    this.#subscribers.add(subscriber);
    const end = () => {
      if (this.#subscribers.delete(subscriber)) index('remove', subscriber.paths, new Map());
    };
    return {
      update: (wanted) => {
        if (this.#subscribers.has(subscriber)) update(wanted);
      },
      [Symbol.dispose]: end,
    };
  }

  retained(filters: readonly string[]): EventEnvelope[] {
    return [...this.#retained.values()].filter(({ topic }) => filters.some((filter) => matchesTopic(filter, topic)));
  }

  stats(): BusStats {
    return {
      published: this.published.length,
      delivered: this.#delivered,
      dropped: { ...this.#dropped },
      subscribers: this.#subscribers.size,
      seq: this.#seq,
    };
  }

  #deliver(subscriber: Subscriber, event: EventEnvelope): void {
    if (!subscriber.queue.push(event, sizeOf(event.payload, 0))) {
      this.#subscribers.delete(subscriber);
      const loss = subscriber.queue.abandon([event]);
      if (loss) subscriber.options.onCutOff?.(loss);
    }
    if (subscriber.busy) return;
    subscriber.busy = true;
    queueMicrotask(() => void this.#drain(subscriber));
  }

  async #drain(subscriber: Subscriber): Promise<void> {
    for (let event = subscriber.queue.shift(); event; event = subscriber.queue.shift()) {
      if (!this.#subscribers.has(subscriber)) break;
      this.#delivered++;
      try {
        const loss = subscriber.queue.takeLoss();
        if (loss) subscriber.options.onDrop?.(loss);
        const settled = subscriber.fn(event);
        if (settled) await settled;
      } catch (error) {
        this.#onError(error);
      }
    }
    subscriber.busy = false;
  }
}
