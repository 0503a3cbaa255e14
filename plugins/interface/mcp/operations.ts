import { type CallContext, CoreError, callerName } from '@device-core/plugin-api';
import { exactly, STATE_ERRORS } from '@device-core/plugin-api/operation-kit';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import { CLIENT_NOT_FOUND, type Clients, type McpClient, type NewClient } from './clients.ts';

const NAME: JsonSchema = {
  type: 'string',
  pattern: '^[A-Za-z0-9][A-Za-z0-9 ._-]{0,39}$',
  description: 'Name that a person sees when the client asks for something.',
};
const APPS: JsonSchema = {
  type: 'array',
  minItems: 1,
  maxItems: 64,
  items: { type: 'string', maxLength: 128 },
  description: 'Ids of the apps whose functions it may call; all if absent.',
};
const SENSORS: JsonSchema = {
  type: 'array',
  minItems: 1,
  maxItems: 64,
  items: { type: 'string', pattern: '^[a-z][a-z0-9-]{0,31}$' },
  description: 'Names of the sensors that it may read; none if absent.',
};
const CALLS: JsonSchema = {
  type: 'integer',
  minimum: 1,
  maximum: 100_000,
  description: 'Calls of functions an hour; 600 if absent.',
};
const MS: JsonSchema = { type: 'number', description: 'Milliseconds since the Unix epoch.' };
const CLIENT: JsonSchema = {
  type: 'object',
  required: ['name', 'callsAnHour', 'since'],
  properties: { name: NAME, apps: APPS, sensors: SENSORS, callsAnHour: CALLS, since: MS, until: MS, lastUsed: MS },
};
const ACCESS = 'The operator only.';
const CALLS_AN_HOUR = 600;

/** Bearers of language model clients, for the operator of the device. */
export function clientOperations(clients: Clients): readonly Operation<never, unknown>[] {
  const list: Operation<object, { readonly clients: readonly McpClient[] }> = {
    name: 'mcp.list',
    summary: 'List language model clients that may call functions of apps',
    params: exactly({}),
    result: exactly({ clients: { type: 'array', items: CLIENT } }, ['clients']),
    access: ACCESS,
    rest: { method: 'GET', path: '/mcp/clients' },
    cli: {
      command: 'mcp list',
      aliases: ['mcp'],
      columns: [
        'name',
        'apps',
        'sensors',
        ['CALLS/H', '{callsAnHour}'],
        ['SINCE', '{since:date}'],
        ['UNTIL', '{until:date}'],
        ['USED', '{lastUsed:ago}'],
      ],
      empty: 'no language model client was added; devicectl mcp add NAME adds one',
    },
    errors: ['CALLER_DENIED'],
    async run(_params, call) {
      requireOperator(call, 'see the clients of language models');
      return { clients: clients.list() };
    },
  };
  const add: Operation<
    Omit<NewClient, 'callsAnHour'> & { readonly callsAnHour?: number },
    McpClient & { readonly token: string }
  > = {
    name: 'mcp.add',
    summary: 'Add a language model client',
    description: 'The answer has its bearer, which is shown this once: the device keeps a hash.',
    params: exactly(
      {
        name: NAME,
        apps: APPS,
        sensors: SENSORS,
        callsAnHour: CALLS,
        days: {
          type: 'integer',
          minimum: 1,
          maximum: 3650,
          description: 'Days that its bearer is good for; without an end if absent.',
        },
      },
      ['name'],
    ),
    result: {
      ...CLIENT,
      required: ['name', 'token'],
      properties: { ...(CLIENT.properties as object), token: { type: 'string' } },
    },
    access: ACCESS,
    sensitive: { act: 'let the language model client {name} call functions of apps[ and read the sensors {sensors}]' },
    rest: { method: 'POST', path: '/mcp/clients', status: 201 },
    cli: { command: 'mcp add', fixed: ['name'], done: ['{token}'] },
    errors: ['CALLER_DENIED', 'PARAMS_INVALID', 'BUSY', ...STATE_ERRORS],
    async run({ callsAnHour = CALLS_AN_HOUR, ...asked }, call) {
      requireOperator(call, 'add a client of language models');
      const { client, token } = await clients.add({ ...asked, callsAnHour });
      return { ...client, token };
    },
  };
  const revoke: Operation<{ readonly name: string }, { readonly revoked: string }> = {
    name: 'mcp.revoke',
    summary: 'Revoke a language model client',
    params: exactly({ name: NAME }, ['name']),
    result: exactly({ revoked: { type: 'string' } }, ['revoked']),
    access: ACCESS,
    rest: { method: 'DELETE', path: '/mcp/clients/:name' },
    cli: { command: 'mcp revoke', fixed: ['name'], done: ['{revoked} is revoked'] },
    errors: ['CALLER_DENIED', CLIENT_NOT_FOUND, ...STATE_ERRORS],
    async run({ name }, call) {
      requireOperator(call, 'revoke a client of language models');
      await clients.revoke(name);
      return { revoked: name };
    },
  };
  return [list, add, revoke];
}

function requireOperator({ caller }: CallContext, verb: string): void {
  if (caller.kind === 'operator') return;
  throw new CoreError('CALLER_DENIED', { verb, reason: `${callerName(caller)} is not the operator of the device` });
}
