/** GET /events: the events that match, as server-sent events, for the operator, web pages and apps without a JSON-RPC session. */
import {
  type Bus,
  CoreError,
  callerName,
  type EventEnvelope,
  type Scope,
  type SubscribeOptions,
  type Subscription,
} from '@device-core/plugin-api';
import type { Operation, ServerSentEvent } from '@device-core/plugin-api/services/operations';
import type { EventsConfig } from './configuration.ts';
import { lossEvent } from './loss.ts';
import type { ReadRights } from './read-rights.ts';
import { Reader } from './reader.ts';

interface Params {
  readonly filter: readonly string[];
}

export class EventStreams {
  readonly #bus: Bus;
  readonly #config: EventsConfig;
  readonly #rights: ReadRights;
  readonly #scope: Scope;
  readonly #open = new Map<string, number>();
  readonly #refreshes = new Set<() => void>();

  constructor(bus: Bus, config: EventsConfig, rights: ReadRights, scope: Scope) {
    this.#bus = bus;
    this.#config = config;
    this.#rights = rights;
    this.#scope = scope;
  }

  /** Read rights have changed. */
  refresh(): void {
    for (const refresh of [...this.#refreshes]) refresh();
  }

  get size(): number {
    return [...this.#open.values()].reduce((sum, count) => sum + count, 0);
  }

  operation(): Operation<Params, ServerSentEvent> {
    return {
      name: 'events.stream',
      summary: 'stream events as server-sent events',
      description:
        'Retained events that match come first. Where only a part of a filter may be read, an event `subscriptions` says so before. `data` is the envelope and `id` its seq; after a loss an event of the topic system.bus.dropped tells what is missing.',
      params: {
        type: 'object',
        additionalProperties: false,
        required: ['filter'],
        properties: {
          filter: {
            type: 'array',
            items: { type: 'string' },
            minItems: 1,
            maxItems: Math.min(1024, this.#config.filters),
          },
        },
      },
      result: { type: 'object', description: 'an event envelope' },
      access: 'An app reads what it may subscribe to; a refusal names the capability that is missing.',
      rest: { method: 'GET', path: '/events', sse: true },
      rpc: false,
      errors: ['FILTER_INVALID', 'CAPABILITY_DENIED', 'CALLER_DENIED', 'BUSY'],
      // Checked here and not in the generator, so that a refusal is the answer and not the first event.
      run: ({ filter }, call) => {
        const told = filter.flatMap((one) => {
          const { reason } = this.#rights.of(call.caller, one);
          return reason === undefined ? [] : [{ filter: one, accepted: true, reason }];
        });
        // Each tab of the operator's has its own: many tabs take nothing from each other.
        const name = call.caller.signedIn?.id ?? callerName(call.caller);
        if ((this.#open.get(name) ?? 0) >= this.#config.streams)
          throw new CoreError('BUSY', { what: 'an event stream', limit: this.#config.streams });
        const reader = new Reader(this.#rights, call.caller);
        const signal = AbortSignal.any([call.signal, this.#scope.signal]);
        // Counts from now on, not from the first event that is asked for: many may be opened before any of them is read.
        this.#open.set(name, (this.#open.get(name) ?? 0) + 1);
        return new EventStream({
          filters: filter,
          reader,
          signal,
          told,
          subscribe: (filters, fn, options) => this.#bus.subscribe(filters, fn, { ...this.#limits, ...options }),
          refreshes: this.#refreshes,
          closed: () => this.#closed(name),
        });
      },
    };
  }

  get #limits(): Pick<SubscribeOptions, 'queue' | 'bytes'> {
    return { queue: this.#config.queue, bytes: this.#config.bytes };
  }

  #closed(name: string): void {
    const left = (this.#open.get(name) ?? 1) - 1;
    if (left > 0) this.#open.set(name, left);
    else this.#open.delete(name);
  }
}

interface StreamParts {
  readonly filters: readonly string[];
  readonly reader: Reader;
  readonly signal: AbortSignal;
  /** Items sent before the first event. */
  readonly told: readonly object[];
  readonly subscribe: Bus['subscribe'];
  readonly refreshes: Set<() => void>;
  /** Called once. */
  readonly closed: () => void;
}

type Item = IteratorResult<ServerSentEvent>;

/**
 * The events of one reader. An event that comes while the reader waits is handed over at once; one that comes earlier
 * makes the subscription busy until the reader takes it, so that the bus keeps what follows, within the bounds of the
 * subscription.
 */
class EventStream implements AsyncIterableIterator<ServerSentEvent> {
  readonly #parts: StreamParts;
  readonly #ready: ServerSentEvent[];
  #subscription: Subscription | undefined;
  #begun = false;
  #over = false;
  #closed = false;
  /** The reader waits. */
  #waiting: ((item: Item) => void) | undefined;
  /** Frees the handler for its next event. */
  #release: (() => void) | undefined;

  constructor(parts: StreamParts) {
    this.#parts = parts;
    this.#ready = parts.told.length > 0 ? [{ event: 'subscriptions', data: { subscriptions: parts.told } }] : [];
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Item> {
    if (!this.#begun) {
      try {
        this.#begin();
      } catch (thrown) {
        this.#close();
        return Promise.reject(thrown);
      }
    }
    const next = this.#ready.shift();
    if (next) return Promise.resolve({ done: false, value: next });
    if (this.#over) return this.return();
    return new Promise((resolve) => {
      this.#waiting = resolve;
      const release = this.#release;
      this.#release = undefined;
      release?.();
    });
  }

  return(): Promise<Item> {
    this.#close();
    return Promise.resolve(DONE);
  }

  #begin(): void {
    this.#begun = true;
    const { subscribe, reader, filters, refreshes, signal } = this.#parts;
    this.#subscription = subscribe(reader.narrowed(filters), (event) => this.#take(event), {
      onDrop: (loss) => this.#offer({ data: lossEvent(loss, false) }),
      onCutOff: (loss) => {
        this.#offer({ data: lossEvent(loss, true) });
        this.#stop();
      },
    });
    refreshes.add(this.#refresh);
    signal.addEventListener('abort', this.#stop, { once: true });
    if (signal.aborted) this.#stop();
  }

  #take(event: EventEnvelope): Promise<void> | undefined {
    if (this.#over || !this.#parts.reader.mayRead(event)) return undefined;
    const waited = this.#waiting !== undefined;
    this.#offer(item(event));
    if (waited) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#release = resolve;
    return promise;
  }

  #offer(value: ServerSentEvent): void {
    const waiting = this.#waiting;
    if (!waiting) {
      this.#ready.push(value);
      return;
    }
    this.#waiting = undefined;
    waiting({ done: false, value });
  }

  readonly #refresh = (): void => {
    const now = this.#parts.reader.narrowed(this.#parts.filters);
    if (now.length > 0) this.#subscription?.update(now);
    else this.#stop(); // nothing is left that it may read
  };

  /** Ready events are still taken. */
  readonly #stop = (): void => {
    this.#over = true;
    this.#release?.();
    if (!this.#waiting) return;
    this.#close();
  };

  #close(): void {
    this.#over = true;
    if (this.#closed) return;
    this.#closed = true;
    this.#parts.refreshes.delete(this.#refresh);
    this.#parts.signal.removeEventListener('abort', this.#stop);
    this.#subscription?.[Symbol.dispose]();
    this.#ready.length = 0;
    this.#release?.();
    this.#waiting?.(DONE);
    this.#waiting = undefined;
    this.#parts.closed();
  }
}

const DONE = { done: true, value: undefined } as const;

/** One for all streams that it goes to, and frozen: whoever sends it makes its text once. */
const items = new WeakMap<EventEnvelope, ServerSentEvent>();

function item(event: EventEnvelope): ServerSentEvent {
  const known = items.get(event);
  if (known) return known;
  const made = Object.freeze({ id: String(event.seq), data: event });
  items.set(event, made);
  return made;
}
