/** GET /events: the events that match, as server-sent events, for the operator, web pages and apps without a JSON-RPC session. */
import {
  type Bus,
  type CallContext,
  CoreError,
  callerName,
  type EventEnvelope,
  type Operation,
  type Scope,
  type ServerSentEvent,
} from '@device-core/plugin-api';
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

  /** What may be read has changed. */
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
          filter: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: this.#config.filters },
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
        const name = callerName(call.caller);
        if ((this.#open.get(name) ?? 0) >= this.#config.streams)
          throw new CoreError('BUSY', { what: 'an event stream', limit: this.#config.streams });
        const reader = new Reader(this.#rights, call.caller);
        const signal = AbortSignal.any([call.signal, this.#scope.signal]);
        return this.#counted(name, this.#stream(filter, reader, told, signal));
      },
    };
  }

  /** Counts from now on, not from the first event that is asked for: many may be opened before any of them is read. */
  #counted(name: string, events: AsyncGenerator<ServerSentEvent>): AsyncIterableIterator<ServerSentEvent> {
    this.#open.set(name, (this.#open.get(name) ?? 0) + 1);
    let open = true;
    const close = (): void => {
      if (!open) return;
      open = false;
      const left = (this.#open.get(name) ?? 1) - 1;
      if (left > 0) this.#open.set(name, left);
      else this.#open.delete(name);
    };
    return {
      [Symbol.asyncIterator]() {
        return this;
      },
      async next() {
        try {
          const result = await events.next();
          if (result.done) close();
          return result;
        } catch (thrown) {
          close();
          throw thrown;
        }
      },
      async return() {
        close();
        return events.return(undefined);
      },
    };
  }

  async *#stream(
    filters: readonly string[],
    reader: Reader,
    told: readonly object[],
    signal: CallContext['signal'],
  ): AsyncGenerator<ServerSentEvent> {
    const ready: ServerSentEvent[] = told.length > 0 ? [{ event: 'subscriptions', data: { subscriptions: told } }] : [];
    let wake = (): void => undefined;
    /** Frees the handler for its next event: called when the reader has taken what there was. */
    let release = (): void => undefined;
    let over = false;
    const offer = (item: ServerSentEvent): void => {
      ready.push(item);
      wake();
    };
    const stop = (): void => {
      over = true;
      wake();
      release();
    };
    using subscription = this.#bus.subscribe(
      reader.narrowed(filters),
      (event) => {
        if (!reader.mayRead(event)) return undefined;
        const { promise, resolve } = Promise.withResolvers<void>();
        release = resolve;
        offer(item(event));
        return promise;
      },
      {
        queue: this.#config.queue,
        bytes: this.#config.bytes,
        onDrop: (loss) => offer({ data: lossEvent(loss, false) }),
        onCutOff: (loss) => {
          offer({ data: lossEvent(loss, true) });
          stop();
        },
      },
    );
    const refresh = () => {
      const now = reader.narrowed(filters);
      if (now.length > 0) subscription.update(now);
      else stop(); // nothing is left that it may read
    };
    this.#refreshes.add(refresh);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    try {
      for (;;) {
        const next = ready.shift();
        if (next) yield next;
        else if (over) return;
        else {
          const { promise, resolve } = Promise.withResolvers<void>();
          wake = resolve;
          release();
          if (ready.length === 0 && !over) await promise;
        }
      }
    } finally {
      this.#refreshes.delete(refresh);
      signal.removeEventListener('abort', stop);
    }
  }
}

function item(event: EventEnvelope): ServerSentEvent {
  return { id: String(event.seq), data: event };
}
