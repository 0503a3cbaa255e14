/** events.subscribe and events.unsubscribe: bound to the session that calls, and over with it. */
import { type CallContext, CoreError, maybe, type Session } from '@device-core/plugin-api';
import { exactly } from '@device-core/plugin-api/operation-kit';
import type { Operation } from '@device-core/plugin-api/services/operations';
import type { ReadRights } from './read-rights.ts';
import type { SessionRegistry } from './session-registry.ts';
import type { SessionSubscriber } from './session-subscriber.ts';

interface Params {
  readonly filter?: string;
  readonly filters?: readonly string[];
}

const params = {
  type: 'object',
  additionalProperties: false,
  minProperties: 1,
  maxProperties: 1,
  properties: {
    filter: { type: 'string' },
    filters: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 1024 },
  },
};
const subscriptions = {
  type: 'array',
  description: 'where only a part of a filter may be read: each filter of the call; `reason` says what is missing',
  items: exactly({ filter: { type: 'string' }, accepted: { type: 'boolean' }, reason: { type: 'string' } }, [
    'filter',
    'accepted',
  ]),
};
/** An answer names every filter of a session up to so many; that of a session with more would grow with each of them. */
const MOST_NAMED = 1024;
const filters = {
  type: 'array',
  items: { type: 'string' },
  description: `every filter of the session from now on; those of the call alone where there are more than ${MOST_NAMED}`,
};
const total = { type: 'integer', description: `how many filters the session has, where more than ${MOST_NAMED}` };

export function subscribeOperations(
  registry: SessionRegistry,
  rights: ReadRights,
): readonly Operation<Params, object>[] {
  return [
    {
      name: 'events.subscribe',
      summary: 'receive the events that match a filter',
      description:
        'All filters or none; of a filter that reaches further than the app may read it gets what it may. Events come as notifications `event` with the envelope, each once however many filters match; retained events come at once. After a loss an event of the topic system.bus.dropped tells what is missing.',
      params,
      result: exactly({ filters, total, subscriptions }, ['filters']),
      access: 'Apps only, on their own socket; a refusal of a topic names the capability that is missing.',
      errors: ['SESSION_REQUIRED', 'FILTER_INVALID', 'CAPABILITY_DENIED', 'CALLER_DENIED', 'SUBSCRIPTION_LIMIT'],
      async run(wanted, call) {
        const session = sessionOf(call, 'events.subscribe');
        const list = listOf(wanted);
        const subscriptions = list.map((filter) => {
          const { reason } = rights.of(call.caller, filter);
          return { filter, accepted: true, ...maybe({ reason }) };
        });
        registry.reserve(session, list);
        const subscriber = registry.of(session);
        subscriber.add(list);
        registry.changed();
        const partial = subscriptions.some((one) => 'reason' in one);
        return { ...held(subscriber, list), ...(partial ? { subscriptions } : {}) };
      },
    },
    {
      name: 'events.unsubscribe',
      summary: 'stop receiving the events that match a filter',
      params,
      result: exactly({ removed: { type: 'integer' }, filters, total }, ['removed', 'filters']),
      access: 'Apps only, on their own socket.',
      errors: ['SESSION_REQUIRED', 'FILTER_INVALID'],
      async run(wanted, call) {
        const subscriber = registry.find(sessionOf(call, 'events.unsubscribe'));
        const removed = subscriber?.remove(listOf(wanted)) ?? 0;
        registry.changed();
        return { removed, ...(subscriber ? held(subscriber, []) : { filters: [] }) };
      },
    },
  ];
}

function held(
  subscriber: SessionSubscriber,
  changed: readonly string[],
): { readonly filters: readonly string[]; readonly total?: number } {
  const { size } = subscriber;
  return size > MOST_NAMED ? { filters: changed, total: size } : { filters: subscriber.filters };
}

function listOf({ filter, filters: list = [] }: Params): readonly string[] {
  return filter === undefined ? list : [filter];
}

function sessionOf({ session }: CallContext, operation: string): Session {
  if (session) return session;
  throw new CoreError('SESSION_REQUIRED', { operation, hint: 'over HTTP, GET /events streams events' });
}
