/** Sessions of browsers as operations: who is signed in, and how one does. */
import {
  type Caller,
  CoreError,
  type HttpServer,
  type JsonSchema,
  type Operation,
  type OperatorRole,
  type Sessions,
} from '@device-core/plugin-api';

const ID: JsonSchema = { type: 'string', pattern: '^[A-Za-z0-9_-]{12}$' };
const NAME: JsonSchema = { type: 'string', minLength: 1, maxLength: 60 };
const ROLE: JsonSchema = { enum: ['viewer', 'operator'] };
const MS: JsonSchema = { type: 'number', description: 'milliseconds since the Unix epoch' };
const SESSION: JsonSchema = {
  type: 'object',
  required: ['id', 'name', 'role', 'since', 'lastUsed', 'until'],
  properties: { id: ID, name: NAME, role: ROLE, since: MS, lastUsed: MS, until: MS },
};
const object = (required: readonly string[], properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  ...{ type: 'object', required, properties },
});
const ACCESS = 'The operator only.';

export interface SessionOperationsOptions {
  readonly server: HttpServer;
  readonly prefix: string;
  /** Is there room for another open page? */
  readonly room: () => boolean;
}

export function operationsOf(
  sessions: Sessions,
  { server, prefix, room }: SessionOperationsOptions,
): readonly Operation<never, unknown>[] {
  const rows = [
    row<{ role: OperatorRole }>({
      name: 'sessions.code',
      sensitive: { act: 'let another browser in as {role}' },
      summary: 'make a code with which one browser can sign in',
      description: 'Good once and for two minutes; a former code that nobody used is void.',
      params: object([], { role: { ...ROLE, default: 'operator' } }),
      result: object(['code', 'until', 'pages'], {
        ...{ code: { type: 'string' }, until: MS },
        pages: { type: 'array', items: { type: 'string' }, description: 'addresses of the page' },
      }),
      access: ACCESS,
      rest: { method: 'POST', path: '/sessions/codes', status: 201 },
      cli: { hide: true },
      errors: ['CALLER_DENIED'],
      async run({ role }, { caller }) {
        requireOperator(caller, 'make a code');
        const addresses = await server.addresses();
        const pages = addresses.filter((one) => one.startsWith('http')).map((one) => `${one}${prefix}`);
        return { ...(await sessions.invite(role)), pages };
      },
    }),
    row<{ code: string; name: string }>({
      name: 'sessions.open',
      summary: 'sign in with a code',
      description:
        'Answers with a token for the header `Authorization: Bearer`. Five wrong codes close the door for ten minutes.',
      params: object(['code'], { code: { type: 'string', maxLength: 32 }, name: { ...NAME, default: 'a browser' } }),
      result: object(['token', 'session'], { token: { type: 'string' }, session: SESSION }),
      anonymous: true,
      access: 'Everybody but apps.',
      rest: { method: 'POST', path: '/sessions', status: 201 },
      cli: { hide: true },
      errors: ['UNAUTHENTICATED', 'RATE_LIMITED', 'CALLER_DENIED'],
      async run({ code, name }, { caller }) {
        // Wrong codes of an app would close the door for the operator.
        if (caller.kind === 'app') throw denied('sign in', 'an app is no browser');
        return sessions.open(code, name);
      },
    }),
    row<object>({
      name: 'sessions.list',
      summary: 'browsers that are signed in',
      params: object([], {}),
      result: object(['sessions'], { sessions: { type: 'array', items: SESSION } }),
      access: ACCESS,
      rest: { method: 'GET', path: '/sessions' },
      cli: {
        command: 'web sessions',
        columns: ['id', 'name', 'role', ['since', '{since:ago}'], ['used', '{lastUsed:ago}']],
        empty: 'nobody is signed in',
      },
      errors: ['CALLER_DENIED'],
      async run(_, { caller }) {
        requireOperator(caller, 'list sessions');
        return { sessions: await sessions.list() };
      },
    }),
    row<{ id: string; name: string }>({
      name: 'sessions.rename',
      summary: 'give a session a name',
      params: object(['id', 'name'], { id: ID, name: NAME }),
      result: object(['session'], { session: SESSION }),
      access: ACCESS,
      rest: { method: 'PUT', path: '/sessions/:id' },
      cli: { command: 'web rename', fixed: ['id', 'name'], done: 'session {id} is {name}' },
      errors: ['CALLER_DENIED', 'SESSION_NOT_FOUND', 'STATE_UNWRITABLE', 'STATE_NEWER'],
      async run({ id, name }, { caller }) {
        requireOperator(caller, 'rename a session');
        return { session: await sessions.label(id, name) };
      },
    }),
    row<{ id: string }>({
      name: 'sessions.revoke',
      viewers: true,
      summary: 'end a session: its token is void and its pages are cut off',
      params: object(['id'], { id: ID }),
      result: object([], {}),
      access: ACCESS,
      rest: { method: 'DELETE', path: '/sessions/:id' },
      cli: { command: 'web revoke', fixed: ['id'], done: 'session {id} has ended' },
      errors: ['CALLER_DENIED', 'SESSION_NOT_FOUND', 'STATE_UNWRITABLE', 'STATE_NEWER'],
      async run({ id }, { caller }) {
        requireOperator(caller, 'end a session');
        if (caller.signedIn?.role === 'viewer' && caller.signedIn.id !== id)
          throw denied('end a session', 'a viewer ends its own alone');
        await sessions.revoke(id);
        return {};
      },
    }),
    row<object>({
      name: 'sessions.ticket',
      summary: 'a ticket for the socket of a page',
      description:
        'Good once and for thirty seconds. It is offered as a subprotocol, as a browser sends no header with a socket.',
      params: object([], {}),
      result: object(['ticket', 'until'], { ticket: { type: 'string' }, until: MS }),
      access: 'Pages that signed in.',
      // It gives nothing that the caller has not, so a viewer may, too.
      rest: { method: 'GET', path: '/sessions/ticket' },
      cli: { hide: true },
      errors: ['CALLER_DENIED', 'BUSY'],
      async run(_, { caller }) {
        // A browser does not tell its page why a socket was refused; this answer does.
        if (!room()) throw new CoreError('BUSY', { what: 'another page', limit: 'all that this device takes' });
        return sessions.ticket(caller);
      },
    }),
  ];
  return rows as unknown as readonly Operation<never, unknown>[];
}

const row = <P>(operation: Operation<P, unknown>): Operation<P, unknown> => operation;

const denied = (verb: string, reason: string): CoreError => new CoreError('CALLER_DENIED', { verb, reason });

/** Throws CALLER_DENIED. */
function requireOperator({ kind }: Caller, verb: string): void {
  if (kind !== 'operator') throw denied(verb, 'it is not the operator of the device');
}
