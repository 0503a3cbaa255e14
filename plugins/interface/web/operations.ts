/** Sessions of browsers as operations: who is signed in, and how one does. */
import { type BrowserProof, type Caller, CoreError, type OperatorRole } from '@device-core/plugin-api';
import type { HttpServer } from '@device-core/plugin-api/inside/services/http-server';
import type { Sessions } from '@device-core/plugin-api/inside/services/sessions';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';

import { sessionsPage } from './sessions-page.ts';

const ID: JsonSchema = { type: 'string', pattern: '^[A-Za-z0-9_-]{12}$' };
const NAME: JsonSchema = { type: 'string', minLength: 1, maxLength: 60 };
const ROLE: JsonSchema = { enum: ['viewer', 'operator'] };
const MS: JsonSchema = { type: 'number', description: 'milliseconds since the Unix epoch' };
const BROWSER = {
  type: 'object',
  required: ['id', 'name', 'role', 'since', 'lastUsed', 'until'],
  properties: { id: ID, name: NAME, role: ROLE, since: MS, lastUsed: MS, until: MS },
} as const satisfies JsonSchema;
const SESSION = {
  ...BROWSER,
  properties: {
    ...BROWSER.properties,
    browser: { ...ID, description: 'that stays signed in, and whose session this is' },
  },
} as const satisfies JsonSchema;
const LISTED: JsonSchema = {
  ...SESSION,
  required: ['kind', 'id', 'name', 'role', 'since', 'lastUsed', 'until'],
  properties: {
    kind: { enum: ['tab', 'browser'], description: 'a session, or a browser that stays signed in and begins sessions' },
    ...SESSION.properties,
  },
};
const object = (required: readonly string[], properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  type: 'object',
  required,
  properties,
});
const KEY: JsonSchema = {
  type: 'string',
  pattern: '^[A-Za-z0-9_-]{87}$',
  description: 'public key of ECDSA with P-256: the uncompressed point, base64url',
};
const ORIGIN: JsonSchema = { type: 'string', maxLength: 100, description: 'of the page: `http://127.0.0.1:55280`' };
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
  /** A proof that was made for a page elsewhere is none. Throws ORIGIN_DENIED. */
  const requireOrigin = async (origin: string): Promise<void> => {
    if (!(await server.addresses()).some((address) => originsOf(address).includes(origin)))
      throw new CoreError('ORIGIN_DENIED', { header: 'origin', value: origin.slice(0, 80) });
  };
  const rows = [
    row<{ role: OperatorRole }>({
      name: 'sessions.code',
      sensitive: { act: 'let another browser in as {role}' },
      summary: 'make a code with which one browser can sign in',
      description: 'Good once and for two minutes; an unused former code is void.',
      params: object([], { role: { ...ROLE, default: 'operator' } }),
      result: object(['code', 'until', 'pages'], {
        code: { type: 'string' },
        until: MS,
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
    row<{ code: string; name: string; key?: string }>({
      name: 'sessions.open',
      summary: 'sign in with a code',
      description:
        'Answers with a token for the header `Authorization: Bearer`. Who sent five wrong codes has to wait for the next code; others do not.',
      params: object(['code'], {
        code: { type: 'string', maxLength: 32 },
        name: { ...NAME, default: 'a browser' },
        key: { ...KEY, description: `${KEY.description}: the browser stays signed in, where the session names one` },
      }),
      result: object(['token', 'session'], { token: { type: 'string' }, session: SESSION }),
      anonymous: true,
      access: 'Everybody but apps.',
      rest: { method: 'POST', path: '/sessions', status: 201 },
      cli: { hide: true },
      errors: ['UNAUTHENTICATED', 'RATE_LIMITED', 'CALLER_DENIED', 'PARAMS_INVALID'],
      async run({ code, name, key }, { caller }) {
        // No app becomes a page of the operator.
        refuseApp(caller);
        return sessions.open(code, name, key, caller);
      },
    }),
    row<object>({
      name: 'sessions.list',
      summary: 'browsers that are signed in, and those that stay so',
      params: object([], {}),
      result: object(['sessions'], { sessions: { type: 'array', items: LISTED } }),
      access: ACCESS,
      page: sessionsPage,
      rest: { method: 'GET', path: '/sessions' },
      cli: {
        command: 'web sessions',
        columns: ['id', 'kind', 'name', 'role', ['since', '{since:ago}'], ['used', '{lastUsed:ago}']],
        empty: 'no session is open',
      },
      errors: ['CALLER_DENIED'],
      async run(_, { caller }) {
        requireOperator(caller, 'list sessions');
        const [browsers, tabs] = await Promise.all([sessions.browsers(), sessions.list()]);
        return {
          sessions: [
            ...browsers.map((one) => ({ kind: 'browser', ...one })),
            ...tabs.map((one) => ({ kind: 'tab', ...one })),
          ],
        };
      },
    }),
    row<{ id: string; name: string }>({
      name: 'sessions.rename',
      summary: 'give a session, or a browser that stays signed in, a name',
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
      description:
        'A browser that stays signed in does so no longer, and all its sessions end. That is so for the id of any of its sessions, too.',
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
    row<{ key: string; name: string }>({
      name: 'sessions.stay',
      sensitive: { act: 'keep the browser {name} signed in' },
      summary: 'keep the browser of this session signed in: from now on it begins sessions by its own key',
      description: 'In the role of this session. It ends thirty days after it was last used, and when it is revoked.',
      params: object(['key'], { key: KEY, name: { ...NAME, default: 'a browser' } }),
      result: object(['browser'], { browser: BROWSER }),
      access: 'Pages that signed in as operator. A viewer brings its key with its code.',
      rest: { method: 'POST', path: '/sessions/browsers', status: 201 },
      cli: { hide: true },
      errors: ['CALLER_DENIED', 'SESSION_NOT_FOUND', 'PARAMS_INVALID', 'STATE_UNWRITABLE', 'STATE_NEWER'],
      async run({ key, name }, { caller }) {
        return { browser: await sessions.stay(caller, name, key) };
      },
    }),
    row<{ browser: string; origin: string }>({
      name: 'sessions.challenge',
      summary: 'a challenge that a browser which stays signed in has to sign',
      description: 'Good once, for one minute, for this browser and the address of its page.',
      params: object(['browser', 'origin'], { browser: ID, origin: ORIGIN }),
      result: object(['challenge', 'until'], { challenge: { type: 'string' }, until: MS }),
      anonymous: true,
      access: 'Everybody but apps.',
      rest: { method: 'POST', path: '/sessions/challenges', status: 201 },
      cli: { hide: true },
      errors: ['BROWSER_UNKNOWN', 'ORIGIN_DENIED', 'CALLER_DENIED'],
      async run({ browser, origin }, { caller }) {
        refuseApp(caller);
        await requireOrigin(origin);
        return sessions.challenge(browser, origin);
      },
    }),
    row<BrowserProof>({
      name: 'sessions.resume',
      summary: 'sign in with the key of a browser that stays signed in',
      description:
        'Signs the lines `device-core browser 1`, origin, browser and challenge, joined by line feeds. Five wrong signatures close the door of this browser alone for ten minutes.',
      params: object(['browser', 'origin', 'challenge', 'signature'], {
        browser: ID,
        origin: ORIGIN,
        challenge: { type: 'string', maxLength: 100 },
        signature: { type: 'string', pattern: '^[A-Za-z0-9_-]{86}$', description: 'r and s side by side, base64url' },
      }),
      result: object(['token', 'session'], { token: { type: 'string' }, session: SESSION }),
      anonymous: true,
      access: 'Everybody but apps.',
      rest: { method: 'POST', path: '/sessions/proofs', status: 201 },
      cli: { hide: true },
      errors: ['BROWSER_UNKNOWN', 'ORIGIN_DENIED', 'UNAUTHENTICATED', 'RATE_LIMITED', 'BUSY', 'CALLER_DENIED'],
      async run(proof, { caller }) {
        refuseApp(caller);
        await requireOrigin(proof.origin);
        return sessions.resume(proof);
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
function refuseApp({ kind }: Caller): void {
  if (kind === 'app') throw denied('sign in', 'an app is no browser');
}

/** An address of this machine goes by three names. */
function originsOf(address: string): readonly string[] {
  if (!URL.canParse(address)) return [];
  const { protocol, origin, port } = new URL(address);
  if (protocol === 'https:') return [origin];
  return protocol === 'http:' ? ['localhost', '127.0.0.1', '[::1]'].map((name) => `http://${name}:${port}`) : [];
}

/** Throws CALLER_DENIED. */
function requireOperator({ kind }: Caller, verb: string): void {
  if (kind !== 'operator') throw denied(verb, 'it is not the operator of the device');
}
