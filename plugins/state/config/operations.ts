import {
  type CallContext,
  type Caller,
  type Capabilities,
  type Config,
  type ConfigEntry,
  type ConfigScope,
  CoreError,
  callerName,
  type JsonSchema,
  type Operation,
} from '@device-core/plugin-api';
import { type AppNames, exactly } from '@device-core/plugin-api/operation-kit';

const KEY: JsonSchema = {
  type: 'string',
  description: 'Dotted segments of letters, digits, "_" and "-"; at most 128 characters and 8 segments.',
};
const APP: JsonSchema = {
  type: 'string',
  description: 'For the operator: the app whose view is meant, by its id or its name. An app sees its own.',
};
const ENTRY_PROPERTIES = {
  key: KEY,
  value: { description: 'Any JSON; null where the key was unset and no lower layer holds it.' },
  source: { enum: ['app', 'device', 'default'] },
  revision: { type: 'integer', description: 'Grows with each change of the value; 0 for defaults.' },
  setBy: { type: 'string' },
  setAt: { type: 'integer', description: 'Milliseconds since the Unix epoch.' },
} as const;
const ENTRY: JsonSchema = {
  type: 'object',
  required: ['key', 'value', 'source', 'revision'],
  properties: ENTRY_PROPERTIES,
};

interface ReadParams {
  readonly key: string;
  readonly app?: string;
}

interface WriteParams extends ReadParams {
  readonly value: unknown;
  readonly ifRevision?: number;
}

interface ListParams {
  readonly prefix?: string;
  readonly app?: string;
}

interface Store extends Config {
  knows(app: string): Promise<boolean>;
}

export function configOperations(
  store: Store,
  capabilities: Capabilities,
  names: AppNames,
): readonly Operation<never, unknown>[] {
  const scopeOf = async (caller: Caller, given: string | undefined): Promise<ConfigScope> => {
    const app = given === undefined ? undefined : await names.idOf(given);
    if (caller.kind === 'app') {
      if (app === undefined || app === caller.id) return { app: caller.id };
      throw new CoreError('CALLER_DENIED', {
        verb: `use the configuration of ${app}`,
        reason: 'an app has its own only',
      });
    }
    if (app === undefined) return {};
    capabilities.require(caller, 'system.config');
    if (!(await store.knows(app))) throw new CoreError('APP_NOT_FOUND', { app });
    return { app };
  };
  const get: Operation<ReadParams, ConfigEntry> = {
    name: 'config.get',
    summary: 'Read a setting',
    description:
      'An app sees its overrides over device state over defaults; the operator sees the device, or with `app` that app.',
    params: exactly({ key: KEY, app: APP }, ['key']),
    result: ENTRY,
    cli: { done: '{value:json}' },
    access: 'Every identified caller may use it for itself; with `app` it needs `system.config`.',
    rest: { method: 'GET', path: '/config/:key' },
    errors: ['CONFIG_KEY_INVALID', 'CONFIG_KEY_NOT_FOUND', 'CALLER_DENIED', 'APP_NOT_FOUND'],
    run: async ({ key, app }, { caller }) => store.get(await scopeOf(caller, app), key),
  };
  const set: Operation<WriteParams, ConfigEntry> = {
    name: 'config.set',
    summary: 'Change a setting',
    description:
      'Durable when answered. An app changes its own overrides, the operator device state, or with `app` the overrides of that app.',
    params: exactly(
      {
        key: KEY,
        value: { description: 'Any JSON up to 64 KiB and 8 levels; null unsets.' },
        ifRevision: {
          type: 'integer',
          minimum: 0,
          description: 'Only if the revision seen before still holds; 0: not set or a default.',
        },
        app: APP,
      },
      ['key', 'value'],
    ),
    result: ENTRY,
    cli: [
      {
        fixed: ['key', 'value'],
        done: '{key} = {value:json} ({source}, revision {revision})',
      },
      {
        command: 'config unset',
        given: { value: null },
        hide: ['value', 'ifRevision'],
        done: '{key} is not set any more',
      },
    ],
    access: 'An app may change its own overrides; everybody else needs `system.config`.',
    rest: { method: 'PUT', path: '/config/:key' },
    errors: [
      'CONFIG_KEY_INVALID',
      'CONFIG_VALUE_INVALID',
      'CONFIG_CONFLICT',
      'CONFIG_LOCKED',
      'CALLER_DENIED',
      'APP_NOT_FOUND',
      'QUEUE_FULL',
      'STATE_UNWRITABLE',
      'STORAGE_FULL',
      'STORAGE_READ_ONLY',
      'STORAGE_FAILED',
    ],
    run: async ({ key, value, ifRevision, app }, { caller }: CallContext) => {
      if (caller.kind !== 'app') capabilities.require(caller, 'system.config');
      const by = callerName(caller);
      return store.set(await scopeOf(caller, app), key, value, ifRevision === undefined ? { by } : { by, ifRevision });
    },
  };
  const list: Operation<ListParams, { readonly entries: readonly ConfigEntry[] }> = {
    name: 'config.list',
    summary: 'List the settings in effect',
    params: exactly({ prefix: { ...KEY, description: 'Only this key and those below it.' }, app: APP }, []),
    result: {
      type: 'object',
      required: ['entries'],
      properties: { entries: { type: 'array', items: ENTRY } },
    },
    cli: {
      fixed: ['prefix'],
      columns: ['key', ['VALUE', '{value:json}'], 'source', 'revision', ['SET BY', '{setBy}']],
      empty: 'nothing is set',
    },
    access: 'Every identified caller may use it for itself; with `app` it needs `system.config`.',
    rest: { method: 'GET', path: '/config' },
    errors: ['CONFIG_KEY_INVALID', 'CALLER_DENIED', 'APP_NOT_FOUND'],
    run: async ({ prefix, app }, { caller }) => ({ entries: await store.list(await scopeOf(caller, app), prefix) }),
  };
  return [get, set, list] as readonly Operation<never, unknown>[];
}
