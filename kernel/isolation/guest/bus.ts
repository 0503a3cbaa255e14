import type { PluginManifest } from '@device-core/plugin-api';
import {
  type Bus,
  CoreError,
  checkTopic,
  type EventHandler,
  matchesTopic,
  PRIORITIES,
  parseFilter,
  type SubscribeOptions,
  type Subscription,
} from '@device-core/plugin-api';
import { invalid, payloadSize } from '../../bus/payload-size.ts';
import type { PluginScope } from '../../scope.ts';
import type { Peer } from '../remote/index.ts';
import type { RemoteCall } from '../remote/remote-call.ts';
import { receiver } from './delivery.ts';

const PAYLOAD_BYTES = 64 << 10;
/** After that the Core has taken in what waits, unless it has much else to do. */
const FULL_MS = 100;

/** The bus as a guest sees it: an invalid event or filter is refused at once, the host's bus checks the rest. */
export class GuestBus implements Bus {
  readonly #peer: Peer;
  readonly #scope: PluginScope;
  readonly #manifest: PluginManifest;
  #fullUntil = 0;

  constructor(peer: Peer, scope: PluginScope, manifest: PluginManifest) {
    this.#peer = peer;
    this.#scope = scope;
    this.#manifest = manifest;
  }

  congested(retryAfterMs: number): void {
    this.#fullUntil = performance.now() + retryAfterMs;
  }

  publish(topic: string, payload: object, priority?: (typeof PRIORITIES)[number]): void {
    const { id, publishes = [] } = this.#manifest;
    if (!publishes.some((filter) => matchesTopic(filter, topic))) {
      const allowed = publishes.join(', ') || 'nothing';
      throw new CoreError('TOPIC_DENIED', { caller: `plugin.${id}`, topic, allowed });
    }
    checkTopic(topic);
    if (priority !== undefined && !PRIORITIES.includes(priority))
      throw invalid('priority', `it must be one of ${PRIORITIES.join(', ')}`);
    payloadSize(payload, PAYLOAD_BYTES, topic);
    const { isFull } = this.#peer;
    const retryAfterMs = isFull ? FULL_MS : Math.ceil(this.#fullUntil - performance.now());
    const reason = isFull ? 'the Core has much of it to hear' : 'events wait for delivery';
    if (retryAfterMs > 0) throw new CoreError('QUEUE_FULL', { what: topic, reason, retryAfterMs });
    this.#peer.notify('publish', topic, payload, priority);
  }

  subscribe(filter: string | readonly string[], fn: EventHandler, options: SubscribeOptions = {}): Subscription {
    checkFilter(filter);
    let ended = false;
    const deliver = receiver((event) => (ended ? undefined : fn(event)));
    const remote = this.#peer.call('subscribe', filter, deliver, options) as RemoteCall<Subscription>;
    const held = this.#scope.hold(`subscription ${filter}`, () => {
      ended = true;
      remote[Symbol.dispose]();
    });
    return {
      [Symbol.dispose]: () => held[Symbol.dispose](),
      change: (add, remove) => {
        [...add, ...remove].forEach(parseFilter);
        if (!ended) void remote.then((subscription) => subscription.change(add, remove)).catch(() => undefined);
      },
      update: (filters) => {
        checkFilter(filters);
        if (!ended) void remote.then((subscription) => subscription.update(filters)).catch(() => undefined); // it ended meanwhile
      },
    };
  }
}

function checkFilter(filter: string | readonly string[]): void {
  const filters = typeof filter === 'string' ? [filter] : filter;
  if (filters.length === 0) throw new CoreError('FILTER_INVALID', { filter: '', reason: 'there is none' });
  filters.forEach(parseFilter);
}
