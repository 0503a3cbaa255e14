import type { QueueState } from '@device-core/plugin-api/inside/services/outbox';
import { exactly, STATE_ERRORS } from '@device-core/plugin-api/operation-kit';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import type { Outboxes } from './outboxes.ts';
import { outboxPage } from './page.ts';

const ID: JsonSchema = { type: 'string', pattern: '^[a-z][a-z0-9-]{0,31}$' };
const COUNT: JsonSchema = { type: 'integer', minimum: 0 };
const QUEUE: JsonSchema = exactly(
  {
    id: { type: 'string' },
    to: { type: 'string', description: 'host and port' },
    waiting: { ...COUNT, description: 'messages, receipts of dropped ones included' },
    bytes: COUNT,
    sent: { ...COUNT, description: 'messages that were taken since the start' },
    lost: { ...COUNT, description: 'messages that were dropped since the start' },
    oldestAt: { type: 'integer', description: 'milliseconds since the Unix epoch' },
    trouble: exactly({ reason: { type: 'string' }, nextAt: { type: 'integer' } }),
  },
  ['id', 'to', 'waiting', 'bytes', 'sent', 'lost'],
);

export function outboxOperations(outboxes: Outboxes): readonly Operation<never, unknown>[] {
  const list: Operation<object, { readonly queues: readonly QueueState[] }> = {
    name: 'outbox.list',
    summary: 'Data that waits to leave the device, by destination',
    params: exactly({}),
    result: exactly({ queues: { type: 'array', items: QUEUE } }),
    capability: 'system.logs',
    cli: {
      aliases: ['outbox'],
      columns: [
        ...['id', 'to', 'waiting', 'bytes', 'sent', 'lost'],
        ['OLDEST', '{oldestAt:date}'],
        ['TROUBLE', '{trouble.reason}'],
        ['NEXT', '{trouble.nextAt:date}'],
      ],
      empty: 'nothing sends by a queue',
    },
    page: outboxPage,
    rest: { method: 'GET', path: '/outbox' },
    errors: [],
    run: async () => ({ queues: outboxes.states() }),
  };
  const retry: Operation<{ readonly id: string }, { readonly queue: QueueState }> = {
    name: 'outbox.retry',
    summary: 'Sends what waits for a destination now',
    params: exactly({ id: ID }),
    result: exactly({ queue: QUEUE }),
    capability: 'system.outbox',
    cli: { done: '{queue.waiting} messages are sent to {queue.to} now' },
    rest: { method: 'POST', path: '/outbox/:id/retry' },
    errors: ['PARAMS_INVALID'],
    run: async ({ id }) => ({ queue: outboxes.retry(id) }),
  };
  const clear: Operation<{ readonly id: string }, { readonly cleared: number }> = {
    name: 'outbox.clear',
    summary: 'Throws away what waits for a destination',
    params: exactly({ id: ID }),
    result: exactly({ cleared: COUNT }),
    capability: 'system.outbox',
    cli: { done: '{cleared} messages were thrown away' },
    rest: { method: 'POST', path: '/outbox/:id/clear' },
    errors: ['PARAMS_INVALID', ...STATE_ERRORS],
    run: async ({ id }) => ({ cleared: await outboxes.clear(id) }),
  };
  return [list, retry, clear] as readonly Operation<never, unknown>[];
}
