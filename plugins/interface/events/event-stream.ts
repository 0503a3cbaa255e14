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
import type { SubscriptionPolicy } from './subscription-policy.ts';

interface Params {
  readonly filter: readonly string[];
}

export class EventStreams {
  readonly #bus: Bus;
  readonly #config: EventsConfig;
  readonly #policy: SubscriptionPolicy;
  readonly #scope: Scope;
  readonly #open = new Map<string, number>();

  constructor(bus: Bus, config: EventsConfig, policy: SubscriptionPolicy, scope: Scope) {
    this.#bus = bus;
    this.#config = config;
    this.#policy = policy;
    this.#scope = scope;
  }

  get size(): number {
    return [...this.#open.values()].reduce((sum, count) => sum + count, 0);
  }

  operation(): Operation<Params, ServerSentEvent> {
    return {
      name: 'events.stream',
      summary: 'stream events as server-sent events',
      description:
        'Retained events that match come first. `data` is the envelope and `id` its seq; after a loss an event of the topic system.bus.dropped tells what is missing.',
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
        for (const one of filter) this.#policy.check(call.caller, one);
        const name = callerName(call.caller);
        if ((this.#open.get(name) ?? 0) >= this.#config.streams)
          throw new CoreError('BUSY', { what: 'an event stream', limit: this.#config.streams });
        return this.#counted(name, this.#stream(filter, AbortSignal.any([call.signal, this.#scope.signal])));
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

  async *#stream(filters: readonly string[], signal: CallContext['signal']): AsyncGenerator<ServerSentEvent> {
    const ready: ServerSentEvent[] = [];
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
    using _subscription = this.#bus.subscribe(
      filters,
      (event) => {
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
      signal.removeEventListener('abort', stop);
    }
  }
}

function item(event: EventEnvelope): ServerSentEvent {
  return { id: String(event.seq), data: event };
}
