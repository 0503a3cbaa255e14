/** changes.list, changes.get. */
import { type CallContext, type Capabilities, type CapabilityId, CoreError, callerName } from '@device-core/plugin-api';
import { CHANGE_STATES, type ChangeInfo, type Changes } from '@device-core/plugin-api/inside/services/changes';
import { exactly } from '@device-core/plugin-api/operation-kit';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import { changesPage } from './page.ts';

const TEXT: JsonSchema = { type: 'string' };
const TIME: JsonSchema = { type: 'integer', description: 'milliseconds since the Unix epoch' };
const STATE: JsonSchema = { enum: [...CHANGE_STATES] };
const CHANGE: JsonSchema = {
  type: 'object',
  required: ['id', 'kind', 'subject', 'summary', 'by', 'state', 'steps', 'progress', 'startedAt'],
  properties: {
    id: TEXT,
    kind: { ...TEXT, description: 'the operation that began it' },
    capability: TEXT,
    subject: { ...TEXT, description: 'changes of one subject are made one after the other' },
    summary: TEXT,
    by: TEXT,
    state: STATE,
    steps: {
      type: 'array',
      items: {
        type: 'object',
        required: ['name', 'summary', 'state'],
        properties: { name: TEXT, summary: TEXT, state: STATE },
      },
    },
    progress: {
      type: 'object',
      description: 'steps that are done, of how many',
      required: ['done', 'of'],
      properties: { done: { type: 'integer' }, of: { type: 'integer' }, note: TEXT },
    },
    error: {
      type: 'object',
      description: 'why it failed',
      required: ['code', 'message'],
      properties: { code: TEXT, message: TEXT, details: { type: 'object', additionalProperties: true } },
    },
    result: { type: 'object', additionalProperties: true, description: 'when it is done: the answer of its operation' },
    startedAt: TIME,
    endedAt: TIME,
  },
};

export function changeOperations(service: Changes, capabilities: Capabilities): readonly Operation<never, unknown>[] {
  const visible = (change: ChangeInfo, { caller }: CallContext) =>
    change.by === callerName(caller) || capabilities.holds(caller, change.capability as CapabilityId);
  const list: Operation<never, { readonly changes: readonly ChangeInfo[] }> = {
    name: 'changes.list',
    summary: 'changes that take long or can be undone: in progress, and finished',
    description: 'Those that the caller began, and those of kinds whose capability it holds. The newest first.',
    params: { type: 'object' },
    result: { type: 'object', required: ['changes'], properties: { changes: { type: 'array', items: CHANGE } } },
    page: changesPage,
    rest: { method: 'GET', path: '/changes' },
    cli: {
      aliases: ['changes'],
      columns: ['id', 'state', ['STARTED', '{startedAt:when}'], 'summary', ['REMARK', '{error.message}']],
      empty: 'nothing was changed yet',
    },
    errors: [],
    run: async (_params, call) => ({ changes: (await service.list()).filter((one) => visible(one, call)) }),
  };
  const get: Operation<{ readonly id: string }, ChangeInfo> = {
    name: 'changes.get',
    summary: 'the steps of a change, how far it is, its error and its result',
    params: exactly({ id: { ...TEXT, maxLength: 40 } }),
    result: CHANGE,
    rest: { method: 'GET', path: '/changes/:id' },
    errors: ['CHANGE_NOT_FOUND'],
    async run({ id }, call) {
      const change = await service.get(id);
      // A change hidden from the caller is reported as missing.
      if (!visible(change, call)) throw new CoreError('CHANGE_NOT_FOUND', { change: id });
      return change;
    },
  };
  return [list, get];
}
