/** Operations on secrets: the operator sets, lists and deletes, an app has its own, and no caller reads another's. */

import { type CallContext, type Capabilities, CoreError } from '@device-core/plugin-api';
import { exactly, STATE_ERRORS } from '@device-core/plugin-api/operation-kit';
import type { Apps } from '@device-core/plugin-api/services/apps';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import { checkName, checkScope, commandFor, LONGEST_NAME, LONGEST_SCOPE, notFound, ownScope, SHARED } from './names.ts';
import { missingPage, secretsPage } from './page.ts';
import type { References } from './references.ts';
import type { Kept, SecretStore } from './store.ts';
import type { VaultState } from './vault.ts';

const CAPABILITY = 'system.secrets';
const NAME: JsonSchema = { type: 'string', maxLength: LONGEST_NAME, description: 'without the scope' };
const SCOPE: JsonSchema = {
  type: 'string',
  maxLength: LONGEST_SCOPE,
  description: '`core`, `shared`, `plugin.<id>` or `app.<id>`; an app has its own',
};
const TEXT: JsonSchema = { type: 'string', description: '1 byte to 16 KiB of UTF-8' };
const MS: JsonSchema = { type: 'integer', description: 'milliseconds since the Unix epoch' };
const TOLD = exactly(
  {
    scope: { type: 'string' },
    name: { type: 'string' },
    setAt: MS,
    setBy: { type: 'string' },
    readAt: { ...MS, description: 'of the last read of the text since the Core started' },
    reads: { type: 'integer', description: 'since the Core started' },
  },
  ['scope', 'name', 'setAt', 'setBy', 'reads'],
);
const WARNED = exactly({ warning: { type: 'string', description: 'what is to be known about this text' } }, []);
const NO_DISK = [...STATE_ERRORS, 'STATE_NEWER'] as const;
const WRITING = [
  'SECRETS_LOCKED',
  'QUEUE_FULL',
  'RATE_LIMITED',
  'SECRET_DENIED',
  'SESSION_REQUIRED',
  ...NO_DISK,
] as const;
const ACCESS = 'An app uses its own secrets, over its own socket; everybody else needs `system.secrets`.';

export interface Reach {
  readonly store: SecretStore;
  readonly references: References;
  readonly capabilities: Capabilities;
  readonly apps: () => Pick<Apps, 'manifest'> | undefined;
}

interface Named {
  readonly scope?: string;
  readonly name: string;
}

type Shut = Exclude<VaultState['state'], 'open'>;

interface Listed {
  readonly secrets: readonly Kept[];
  readonly locked?: string;
  readonly state?: Shut;
}

export interface Missing {
  readonly plugin: string;
  readonly name: string;
  readonly command: string;
}

/** References of configurations without a secret. Throws SECRETS_LOCKED: the set ones are not known then. */
export async function missingOf({ store, references }: Pick<Reach, 'store' | 'references'>): Promise<Missing[]> {
  await store.open();
  const missing = (await references.all()).flatMap(({ id, names }) =>
    names.filter((name) => !store.has(`plugin.${id}`, name) && !store.has(SHARED, name)).map((name) => ({ id, name })),
  );
  return missing.map(({ id, name }) => ({ plugin: id, name, command: commandFor(SHARED, name) }));
}

/** Reason why no plugin or app of this name is here: a slip of the pen more often than a plan. */
async function nobodyOf(scope: string, { references, apps }: Reach): Promise<string | undefined> {
  const id = scope.slice(scope.indexOf('.') + 1);
  if (scope.startsWith('plugin.')) return (await references.knows(id)) ? undefined : `no plugin ${id} runs here`;
  if (!scope.startsWith('app.')) return undefined;
  const known =
    (await apps()
      ?.manifest(id)
      .catch(() => undefined)) !== undefined; // not found, or no apps here
  return known ? undefined : `no app ${id} is installed here`;
}

export function secretOperations(reach: Reach): readonly Operation<never, unknown>[] {
  const { store, capabilities } = reach;

  /** Scope that the caller may change and list; `name` is one that its app.yaml must declare. */
  const scopeOf = async (operation: string, call: CallContext, given?: string, name?: string): Promise<string> => {
    const { caller, session } = call;
    if (caller.kind !== 'app') {
      capabilities.require(caller, CAPABILITY);
      const scope = given ?? SHARED;
      checkScope(scope);
      return scope;
    }
    const own = ownScope(caller);
    const denied = (reason: string) =>
      new CoreError('SECRET_DENIED', { caller: own, name: name ?? 'of others', reason });
    // A token can be taken along; the socket is the app.
    if (!session) throw new CoreError('SESSION_REQUIRED', { operation, hint: 'call it on the socket of the app' });
    if (name !== undefined) checkName(name);
    if (given !== undefined && given !== own) throw denied('an app has its own secrets only');
    if (name === undefined) return own;
    const { config } = (await reach.apps()?.manifest(caller.id)) ?? {};
    if (!config?.secrets?.includes(name)) throw denied('its app.yaml does not have it in config.secrets');
    return own;
  };

  const get: Operation<Named, { readonly name: string; readonly secretText: string }> = {
    name: 'secrets.get',
    summary: 'Read a secret of the app itself',
    description: 'For apps, over their own sockets. Nobody else reads a secret; the operator sets another one.',
    params: exactly({ name: NAME, scope: SCOPE }, ['name']),
    result: exactly({ name: { type: 'string' }, secretText: TEXT }),
    access: 'Apps only.',
    errors: [
      'SECRET_NOT_FOUND',
      'SECRET_DENIED',
      'SECRETS_LOCKED',
      'SESSION_REQUIRED',
      'CALLER_DENIED',
      'STATE_CORRUPT',
    ],
    async run({ name, scope: given }, call) {
      if (call.caller.kind !== 'app')
        throw new CoreError('CALLER_DENIED', { verb: 'read a secret', reason: 'only the app that owns it reads it' });
      const scope = await scopeOf('secrets.get', call, given, name);
      await store.open();
      if (!store.has(scope, name)) throw notFound(scope, name);
      return { name, secretText: await store.reveal(scope, name) };
    },
  };
  const set: Operation<Named & { readonly secretText: string }, object> = {
    name: 'secrets.set',
    sensitive: { act: 'set the secret {name}' },
    summary: 'Set a secret',
    description:
      'Durable when answered. Whoever uses it takes the new text by itself, nothing restarts. `devicectl secret set NAME` reads the text from standard input, or asks for it.',
    params: exactly({ scope: SCOPE, name: NAME, secretText: TEXT }, ['name', 'secretText']),
    result: WARNED,
    access: ACCESS,
    rest: { method: 'PUT', path: '/secrets/:scope/:name' },
    // A text in a command line is read by everybody on the machine: a program takes it from standard input.
    cli: { hide: true },
    errors: WRITING,
    async run({ scope: given, name, secretText }, call) {
      const scope = await scopeOf('secrets.set', call, given, name);
      const short = await store.set(scope, name, secretText, ownScope(call.caller));
      const nobody = call.caller.kind === 'app' ? undefined : await nobodyOf(scope, reach).catch(() => undefined);
      const warning = [nobody, short].filter((one) => one !== undefined).join('; ');
      return warning === '' ? {} : { warning };
    },
  };
  const remove: Operation<Named, object> = {
    name: 'secrets.delete',
    sensitive: { act: 'delete the secret {name}' },
    summary: 'Delete a secret',
    params: exactly({ scope: SCOPE, name: NAME }, ['name']),
    result: exactly({}),
    access: ACCESS,
    rest: { method: 'DELETE', path: '/secrets/:scope/:name' },
    cli: { fixed: ['name'], given: { scope: SHARED }, done: 'secret {name} of {scope} is deleted' },
    errors: ['SECRET_NOT_FOUND', ...WRITING],
    async run({ scope: given, name }, call) {
      const scope = await scopeOf('secrets.delete', call, given, name);
      await store.delete(scope, name, ownScope(call.caller));
      return {};
    },
  };
  const list: Operation<{ readonly scope?: string }, Listed> = {
    name: 'secrets.list',
    summary: 'List the secrets of the device, without their texts',
    description: 'Names of a vault that is locked are shown as far as they are known, with the reason in `locked`.',
    params: exactly({ scope: SCOPE }, []),
    result: exactly(
      {
        secrets: { type: 'array', items: TOLD },
        locked: { type: 'string', description: 'why none of them can be used, and what to do about it' },
        state: { enum: ['locked', 'failed'], description: 'beside `locked`: the key is wanting, or the vault is' },
      },
      ['secrets'],
    ),
    access: ACCESS,
    page: secretsPage,
    rest: { method: 'GET', path: '/secrets' },
    cli: {
      columns: ['scope', 'name', ['SET', '{setAt:date}'], ['BY', '{setBy}'], ['LAST READ', '{readAt:date}'], 'reads'],
      empty: 'no secret is set',
    },
    errors: ['SECRET_DENIED', 'SESSION_REQUIRED', 'SECRETS_LOCKED'],
    async run({ scope: given }, call) {
      const scope = await scopeOf('secrets.list', call, given);
      const shut = await store.open().then(
        () => undefined,
        (error: Error) => error,
      );
      const secrets = store.list(call.caller.kind !== 'app' && given === undefined ? undefined : scope);
      if (!shut) return { secrets };
      if (secrets.length === 0) throw shut;
      return { secrets, locked: shut.message, state: store.state as Shut };
    },
  };
  const missing: Operation<never, { readonly missing: readonly Missing[] }> = {
    name: 'secrets.missing',
    summary: 'List the secrets that configurations name and that are not set',
    params: exactly({}),
    result: exactly({
      missing: {
        type: 'array',
        items: exactly({ plugin: { type: 'string' }, name: { type: 'string' }, command: { type: 'string' } }),
      },
    }),
    capability: CAPABILITY,
    page: missingPage,
    rest: { method: 'GET', path: '/secrets/missing' },
    cli: { columns: ['plugin', 'name', ['SET IT WITH', '{command}']], empty: 'all that configurations name is set' },
    errors: ['SECRETS_LOCKED'],
    run: async () => ({ missing: await missingOf(reach) }),
  };
  const rotate: Operation<never, { readonly secrets: number }> = {
    name: 'secrets.rotate',
    sensitive: { act: 'seal all secrets anew' },
    summary: 'Seal all secrets anew with another key',
    description: 'The texts stay what they are. The new key is made of the master key, which stays, too.',
    params: exactly({}),
    result: exactly({ secrets: { type: 'integer' } }),
    capability: CAPABILITY,
    rest: { method: 'POST', path: '/secrets/rotate' },
    cli: { done: 'secrets sealed anew: {secrets}' },
    errors: ['SECRETS_LOCKED', 'QUEUE_FULL', 'RATE_LIMITED', 'STATE_CORRUPT', ...NO_DISK],
    run: async (_params, { caller }) => ({ secrets: await store.rotate(ownScope(caller)) }),
  };
  return [get, set, remove, list, missing, rotate] as unknown as readonly Operation<never, unknown>[];
}
