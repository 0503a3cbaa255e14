/** Confirming what a page wants to do: by a code, or by waiting for the panel. */
import { type CallContext, CoreError, maybe } from '@device-core/plugin-api';
import type { Sessions } from '@device-core/plugin-api/inside/services/sessions';
import { ACT_NAMES, ACT_SUBJECT, exactly } from '@device-core/plugin-api/operation-kit';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import type { Confirmations } from './confirmations.ts';

const ID: JsonSchema = { type: 'string', pattern: '^[A-Za-z0-9_-]{12}$' };
const MS: JsonSchema = { type: 'number', description: 'milliseconds since the Unix epoch' };
/** How long one asks for the outcome; then again. */
const WAIT_MS = 20_000;

export function confirmationOperations(
  confirmations: Confirmations,
  sessions: Sessions,
): readonly Operation<never, unknown>[] {
  const code: Operation<object, unknown> = {
    name: 'sessions.confirmationCode',
    summary: 'make a code that confirms what a page asks for',
    description: 'Good once and for two minutes, for one act. No page may make one.',
    params: exactly({}),
    result: {
      type: 'object',
      required: ['code', 'until', 'waiting'],
      properties: {
        code: { type: 'string' },
        until: MS,
        waiting: {
          type: 'array',
          description: 'what pages wait for, the newest first',
          items: {
            type: 'object',
            required: ['id', 'session', 'name', 'what', 'act', 'until'],
            properties: {
              id: ID,
              session: ID,
              name: { type: 'string', description: 'of the session' },
              what: { type: 'string', description: 'the act; long values are cut' },
              act: { type: 'string', description: 'the act in full' },
              operation: { type: 'string' },
              names: ACT_NAMES,
              about: ACT_SUBJECT,
              until: MS,
            },
          },
        },
      },
    },
    access: 'The operator only, but no page.',
    rest: { method: 'POST', path: '/sessions/confirmation-codes', status: 201 },
    cli: { hide: true },
    errors: ['CALLER_DENIED'],
    async run(_, { caller }) {
      if (caller.kind !== 'operator' || caller.signedIn)
        throw denied('make a code', 'a page does not confirm itself: "devicectl web confirm" makes one');
      const names = new Map((await sessions.list()).map(({ id, name }) => [id, name]));
      const waiting = confirmations
        .waiting()
        .map(({ ms: _, about, ...one }) => ({ ...one, name: names.get(one.session) ?? '', ...maybe({ about }) }));
      return { ...(await sessions.confirmationCode()), waiting };
    },
  };
  const confirm: Operation<{ readonly id: string; readonly code: string }, unknown> = {
    name: 'sessions.confirm',
    summary: 'confirm with a code what this page asked for',
    description: 'A page that sent five wrong codes has to wait for the next code.',
    params: exactly({ id: ID, code: { type: 'string', minLength: 1, maxLength: 32 } }),
    result: { type: 'object', properties: {} },
    access: 'The page that asked.',
    rest: { method: 'POST', path: '/sessions/confirmations/:id' },
    cli: { hide: true },
    errors: ['CALLER_DENIED', 'RATE_LIMITED'],
    async run({ id, code: typed }, { caller }) {
      confirmations.check(id, caller.signedIn?.id);
      await sessions.takeConfirmation(typed, caller).catch((thrown: unknown) => {
        // No question of who it is: the session goes on.
        if (thrown instanceof CoreError && thrown.code === 'UNAUTHENTICATED')
          throw denied('confirm it', String(thrown.details.reason));
        throw thrown;
      });
      confirmations.settle(id, 'confirmed');
      return {};
    },
  };
  const outcome: Operation<{ readonly id: string }, unknown> = {
    name: 'sessions.confirmation',
    summary: 'outcome of a question of this page; waits twenty seconds for the answer',
    params: exactly({ id: ID }),
    result: {
      type: 'object',
      required: ['state'],
      properties: {
        state: {
          enum: ['open', 'confirmed', 'refused', 'gone'],
          description: 'gone: late, used, or of another page',
        },
      },
    },
    access: 'The page that asked.',
    rest: { method: 'GET', path: '/sessions/confirmations/:id' },
    cli: { hide: true },
    errors: [],
    timeoutMs: 2 * WAIT_MS,
    async run({ id }, { caller, signal }: CallContext) {
      return { state: await confirmations.outcome(id, caller.signedIn?.id, WAIT_MS, signal) };
    },
  };
  return [code, confirm, outcome] as unknown as readonly Operation<never, unknown>[];
}

const denied = (verb: string, reason: string): CoreError => new CoreError('CALLER_DENIED', { verb, reason });
