/** notify.list, notify.dismiss: an app sees its own, the operator and who may see the screen see all. */
import { type CallContext, type Caller, type Capabilities, CoreError } from '@device-core/plugin-api';
import { exactly } from '@device-core/plugin-api/operation-kit';
import type { Notification } from '@device-core/plugin-api/services/display';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import { LEVELS } from './request.ts';

const TEXT: JsonSchema = { type: 'string' };
const STATES = ['waiting', 'showing', 'shown', 'dropped', 'dismissed'] as const satisfies Notification['state'][];
const NOTIFICATION: JsonSchema = {
  type: 'object',
  required: ['id', 'kind', 'title', 'text', 'level', 'at', 'state', 'count'],
  properties: {
    id: TEXT,
    kind: { enum: ['toast', 'banner'] },
    app: { ...TEXT, description: 'who asked; absent: the device itself' },
    title: { ...TEXT, description: 'the real title of the app' },
    text: { ...TEXT, description: "the app's own words" },
    level: { enum: [...LEVELS] },
    icon: TEXT,
    at: { type: 'integer', description: 'milliseconds since the Unix epoch' },
    state: { enum: STATES, description: 'dropped: it was never shown' },
    count: { type: 'integer', description: 'how often the same was asked for' },
    progress: { type: 'number' },
    buttons: {
      type: 'array',
      items: { type: 'object', required: ['id', 'title'], properties: { id: TEXT, title: TEXT } },
    },
  },
};
const ACCESS = 'An app sees its own; the operator, and who holds system.display, sees all.';

export interface Told {
  list(): readonly Notification[];
  /** Throws NOTIFICATION_NOT_FOUND. */
  dismiss(id: string): void;
}

export function notifyOperations(told: Told, capabilities: Capabilities): readonly Operation<never, unknown>[] {
  const seenBy = (caller: Caller) => {
    const all = capabilities.holds(caller, 'system.display');
    return told.list().filter(({ app }) => all || (caller.kind === 'app' && app === caller.id));
  };
  const list: Operation<object, { readonly notifications: readonly Notification[] }> = {
    name: 'notify.list',
    summary: 'Toasts and banners, the newest first',
    access: ACCESS,
    params: exactly({}),
    result: exactly({ notifications: { type: 'array', items: NOTIFICATION } }),
    rest: { method: 'GET', path: '/notifications' },
    cli: {
      aliases: ['notifications'],
      columns: ['id', 'kind', 'state', 'level', ['FROM', '{app|title}'], ['AT', '{at:time}'], 'text'],
      empty: 'no notifications',
    },
    errors: [],
    run: async (_params, { caller }: CallContext) => ({ notifications: seenBy(caller) }),
  };
  const dismiss: Operation<{ readonly id: string }, object> = {
    name: 'notify.dismiss',
    summary: 'Take a toast or a banner away',
    access: ACCESS,
    params: exactly({ id: { ...TEXT, minLength: 1, maxLength: 40, description: 'as notify.list tells it' } }),
    result: exactly({}),
    rest: { method: 'DELETE', path: '/notifications/:id' },
    cli: { done: '{id} is dismissed' },
    errors: ['NOTIFICATION_NOT_FOUND'],
    async run({ id }, { caller }) {
      // A notification of another owner counts as missing.
      if (!seenBy(caller).some((one) => one.id === id))
        throw new CoreError('NOTIFICATION_NOT_FOUND', { notification: id });
      told.dismiss(id);
      return {};
    },
  };
  return [list, dismiss];
}
