import { type CallContext, CoreError, callerName } from '@device-core/plugin-api';
import { exactly } from '@device-core/plugin-api/operation-kit';
import type { AppStatus } from '@device-core/plugin-api/services/apps';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import type { Supervisor } from './supervisor.ts';

export const BY_APP: JsonSchema = {
  type: 'string',
  minLength: 1,
  maxLength: 128,
  description: 'App id, or its short name.',
};
const BY_ID: JsonSchema = exactly({ id: BY_APP });
const STATUS: JsonSchema = {
  type: 'object',
  required: ['id', 'name', 'version', 'title', 'state', 'since', 'restarts', 'capabilities', 'denied', 'leftOut'],
  properties: {
    id: { type: 'string' },
    name: { type: 'string' },
    version: { type: 'string' },
    title: { type: 'string' },
    state: { enum: ['stopped', 'starting', 'running', 'stopping', 'backoff', 'failed', 'quarantined'] },
    reason: { type: 'string' },
    complaint: { type: 'string', description: 'Why its app.yaml cannot be used now; the last good one is in force.' },
    since: { type: 'integer', description: 'milliseconds since the Unix epoch' },
    pid: { type: 'integer' },
    restarts: { type: 'integer' },
    lastEnd: {
      type: 'object',
      description: 'Its last unrequested end, and the number of such ends.',
      properties: {
        reason: { type: 'string' },
        at: { type: 'integer', description: 'milliseconds since the Unix epoch' },
        count: { type: 'integer' },
      },
    },
    capabilities: { type: 'array', items: { type: 'string' } },
    denied: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          capability: { type: 'string' },
          hint: { type: 'string', description: 'what would grant it' },
          why: { type: 'string', description: 'the line or the answer by which it is not granted' },
        },
      },
    },
    leftOut: {
      type: 'array',
      description:
        'Parts of app.yaml that are not in force, each with the reason and the line that would grant what is missing.',
      items: {
        type: 'object',
        properties: {
          part: { type: 'string', description: '`config`, `function <name>`, or another member of app.yaml.' },
          reason: { type: 'string' },
          unused: { type: 'boolean', description: 'The part is right, and this Core has no use for it.' },
          capability: { type: 'string' },
          hint: { type: 'string' },
        },
      },
    },
    health: {
      type: 'object',
      properties: { status: { type: 'string' }, message: { type: 'string' }, at: { type: 'integer' } },
    },
  },
};
export const ONE_APP: JsonSchema = { type: 'object', required: ['app'], properties: { app: STATUS } };
/** Longer than the longest start and stop that a manifest may ask for. */
export const CHANGE_MS = 160_000;

type ById = { readonly id: string };
type OneApp = { readonly app: AppStatus };

/** `mayAdminister`: does the caller hold system.apps? */
export function appOperations(
  supervisor: Supervisor,
  mayAdminister: (call: CallContext) => boolean,
): readonly Operation<never, unknown>[] {
  const shownTo = (call: CallContext) => {
    const full = mayAdminister(call);
    return (status: AppStatus) =>
      full || (call.caller.kind === 'app' && call.caller.id === status.id) ? status : withoutInnards(status);
  };
  const change = (
    verb: 'start' | 'stop' | 'restart',
    summary: string,
    description: string,
  ): Operation<ById, OneApp> => ({
    name: `apps.${verb}`,
    summary,
    description,
    params: BY_ID,
    result: ONE_APP,
    capability: 'system.apps',
    cli: { progress: `waiting for its ${verb}` },
    rest: { method: 'POST', path: `/apps/:id/${verb}` },
    errors: ['APP_NOT_FOUND', 'MANIFEST_INVALID', 'CAPABILITY_UNKNOWN', 'APP_CONFLICT'],
    timeoutMs: CHANGE_MS,
    run: async ({ id }) => ({ app: await supervisor[verb](id) }),
  });

  const list: Operation<object, { readonly apps: readonly AppStatus[] }> = {
    name: 'apps.list',
    summary: 'Every app and its state',
    params: { type: 'object', additionalProperties: false, properties: {} },
    result: { type: 'object', required: ['apps'], properties: { apps: { type: 'array', items: STATUS } } },
    cli: {
      columns: [
        ['APP', '{id}'],
        'version',
        'state',
        ['SINCE', '{since:ago}'],
        'restarts',
        ['REMARK', '{complaint|reason|lastEnd.reason}'],
        ['LAST END', '{lastEnd.at:ago}'],
        ['NOT GRANTED', '{denied.capability}'],
        ['LEFT OUT', '{leftOut.part}'],
      ],
      empty: 'no apps; add one with: npm start -- --app <folder>',
    },
    rest: { method: 'GET', path: '/apps' },
    errors: [],
    run: async (_, call) => ({ apps: (await supervisor.list()).map(shownTo(call)) }),
  };
  const status: Operation<ById, OneApp> = {
    name: 'apps.status',
    summary: 'State of one app',
    description: 'Reason, process and grants are shown to the app itself and to holders of system.apps.',
    params: BY_ID,
    result: ONE_APP,
    cli: { command: 'app show', aliases: ['app status'] },
    rest: { method: 'GET', path: '/apps/:id' },
    errors: ['APP_NOT_FOUND'],
    run: async ({ id }, call) => ({ app: shownTo(call)(await supervisor.status(id)) }),
  };
  return [
    list,
    status,
    change(
      'start',
      'Start an app',
      'Answers when it runs or failed to; `state` tells which. Without a session it has run for a second by then. Ends a quarantine.',
    ),
    change('stop', 'Stop an app', 'Answers when none of its processes is left.'),
    change('restart', 'Stop an app and start it again', 'Answers when it runs or failed to.'),
  ];
}

/** The status that other apps may see: the last output may hold anything, so it is left out. */
function withoutInnards({ id, name, version, title, state, since, restarts }: AppStatus): AppStatus {
  return { id, name, version, title, state, since, restarts, capabilities: [], denied: [], leftOut: [] };
}

/** The app that calls. Throws CALLER_DENIED for anybody else. */
export function callingApp(supervisor: Supervisor, verb: string, call: CallContext) {
  if (call.caller.kind !== 'app')
    throw new CoreError('CALLER_DENIED', { verb, reason: `${callerName(call.caller)} is not an app` });
  return supervisor.find(call.caller.id);
}
