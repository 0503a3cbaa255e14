/** prompts.list, prompts.answer, consents.list: for the person who owns the device, whatever an app holds. */
import { type CallContext, CoreError, callerName, maybe } from '@device-core/plugin-api';
import type { Consent } from '@device-core/plugin-api/inside/services/consents';
import { ACT_ABOUT, ACT_NAMES, exactly, PROMPT_PARAMS, PROMPT_RIGHTS } from '@device-core/plugin-api/operation-kit';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import type { Prompt, PromptOutcome } from '@device-core/plugin-api/services/prompts';
import type { Board } from './board.ts';
import type { KeptAnswers } from './kept-answers.ts';
import { consentsPage } from './page.ts';

const TEXT: JsonSchema = { type: 'string' };
const TIME: JsonSchema = { type: 'integer', description: 'milliseconds since the Unix epoch' };
const PROMPT: JsonSchema = {
  type: 'object',
  required: ['id', 'kind', 'subject', 'title', 'what', 'since', 'until'],
  properties: {
    id: TEXT,
    kind: { enum: ['consent', 'confirm', 'update'] },
    subject: { ...TEXT, description: 'an app id' },
    title: { ...TEXT, description: 'as the subject calls itself' },
    signer: TEXT,
    version: TEXT,
    act: { ...TEXT, description: 'what is to be done, where it is about no capability' },
    operation: { ...TEXT, description: 'of the act' },
    names: ACT_NAMES,
    about: { ...ACT_ABOUT, description: 'what the act is about' },
    ...PROMPT_RIGHTS,
    since: TIME,
    until: { ...TIME, description: 'no answer by then is a no; milliseconds since the Unix epoch' },
  },
};
const OUTCOME: JsonSchema = {
  type: 'object',
  required: ['state', 'allow', 'at'],
  properties: { state: { const: 'answered' }, allow: { type: 'array', items: TEXT }, by: TEXT, at: TIME },
};
const CONSENT: JsonSchema = {
  type: 'object',
  required: ['app', 'capability', 'allowed', 'by', 'at', 'version'],
  properties: {
    app: TEXT,
    capability: TEXT,
    params: PROMPT_PARAMS,
    allowed: { type: 'boolean' },
    by: TEXT,
    at: TIME,
    version: { ...TEXT, description: 'of the app that asked' },
  },
};
const ACCESS = 'The operator only.';

export function promptOperations(board: Board, answers: KeptAnswers): readonly Operation<never, unknown>[] {
  const list: Operation<object, { readonly prompts: readonly Prompt[] }> = {
    name: 'prompts.list',
    summary: 'Questions that wait for an answer',
    access: ACCESS,
    params: exactly({}),
    result: { type: 'object', required: ['prompts'], properties: { prompts: { type: 'array', items: PROMPT } } },
    rest: { method: 'GET', path: '/prompts' },
    // The command is a program: what an app says of itself is shown as that.
    cli: { hide: true },
    errors: ['CALLER_DENIED'],
    async run(_params, call) {
      requireOperator(call, 'see questions');
      return { prompts: await board.list() };
    },
  };
  const answer: Operation<{ readonly id: string; readonly allow: readonly string[] }, PromptOutcome> = {
    name: 'prompts.answer',
    summary: 'Answer a question: what is not allowed is denied',
    description: 'The first answer settles it. Of a question without capabilities `yes` is the yes.',
    access: ACCESS,
    sensitive: { act: 'allow what is asked', unless: { allow: [] } },
    params: exactly({
      id: { ...TEXT, minLength: 1, maxLength: 40 },
      allow: { type: 'array', maxItems: 128, items: { ...TEXT, maxLength: 200 } },
    }),
    result: OUTCOME,
    rest: { method: 'POST', path: '/prompts/:id' },
    cli: { hide: true },
    errors: ['CALLER_DENIED', 'CONSENT_NOT_FOUND', 'PARAMS_INVALID', 'STATE_NEWER', 'STATE_UNWRITABLE'],
    async about({ id, allow }, call) {
      await notOfItself(board, id, call);
      const { kind, subject, title, version, signer, what, claims } = board.find(id);
      return {
        id: subject,
        title,
        answers: id,
        what: what.filter(({ capability }) => allow.includes(capability)),
        ...maybe({ version }),
        ...(kind === 'consent' ? { signer: signer ?? null } : {}),
        ...maybe({ claims }),
      };
    },
    async run({ id, allow }, call) {
      requireOperator(call, 'answer a question');
      await notOfItself(board, id, call);
      return board.answer(id, allow, callerName(call.caller));
    },
  };
  const kept: Operation<object, { readonly consents: readonly (Consent & { readonly app: string })[] }> = {
    name: 'consents.list',
    summary: 'Answers that were kept, by app',
    description: 'Each holds until it is revoked: devicectl app grant and devicectl app revoke change it.',
    access: ACCESS,
    params: exactly({}),
    result: { type: 'object', required: ['consents'], properties: { consents: { type: 'array', items: CONSENT } } },
    page: consentsPage,
    rest: { method: 'GET', path: '/consents' },
    cli: {
      aliases: ['consents'],
      columns: ['app', 'capability', ['PORTS', '{params.ports}'], 'allowed', 'by', ['ON', '{at:date}'], 'version'],
      empty: 'no answers were kept yet',
    },
    errors: ['CALLER_DENIED'],
    async run(_params, call) {
      requireOperator(call, 'see what was allowed');
      return { consents: answers.all() };
    },
  };
  return [list, answer, kept];
}

/** Throws CALLER_DENIED: what a page asks the person before the device, no page answers. */
async function notOfItself(board: Board, id: string, { caller }: CallContext): Promise<void> {
  if (caller.signedIn === undefined) return;
  const asked = (await board.list()).find((one) => one.id === id);
  if (asked?.kind !== 'confirm') return;
  const reason = 'it is for the person before the device: the panel answers it, or devicectl';
  throw new CoreError('CALLER_DENIED', { verb: 'answer a question', reason });
}

function requireOperator({ caller }: CallContext, verb: string): void {
  if (caller.kind === 'operator') return;
  throw new CoreError('CALLER_DENIED', { verb, reason: `${callerName(caller)} is not the operator of the device` });
}
