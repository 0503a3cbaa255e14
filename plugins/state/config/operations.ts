import { type CallContext, type Caller, type Capabilities, CoreError } from '@device-core/plugin-api';
import { type AppNames, exactly, STATE_ERRORS } from '@device-core/plugin-api/operation-kit';
import type { Config, ConfigEntry, ConfigScope } from '@device-core/plugin-api/services/config';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import type { Held } from './state-file.ts';

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
  hidden: { const: true, description: 'The value is a secret: it is there, and null is shown.' },
} as const;
const { revision, setBy, setAt } = ENTRY_PROPERTIES;
const FORMER = { revision, setBy, setAt };
const WRITING = ['QUEUE_FULL', 'STATE_NEWER', ...STATE_ERRORS] as const;
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

interface ResetParams {
  readonly key: string;
  readonly app?: string;
  readonly layer?: 'app' | 'device';
  readonly ifRevision?: number;
}

/** Services of the operations; `write` also makes the changes of plugins' sections. */
export interface Reach {
  readonly store: Pick<Config, 'get' | 'list'> & { knows(app: string): Promise<boolean> };
  readonly write: Config['set'];
  reset(
    scope: ConfigScope,
    key: string,
    options: { readonly by: string; readonly ifRevision?: number },
  ): Promise<Held | undefined>;
  isSecret(scope: ConfigScope, key: string): boolean;
  /** How this caller is called in `setBy`. */
  who(caller: Caller): Promise<string>;
  readonly capabilities: Capabilities;
  readonly names: AppNames;
}

export function configOperations(reach: Reach): readonly Operation<never, unknown>[] {
  const { store, capabilities, names } = reach;
  /** A secret is shown only to the app that has it. */
  const shown = (entry: ConfigEntry, scope: ConfigScope, caller: Caller): ConfigEntry & { readonly hidden?: true } =>
    caller.kind === 'app' || entry.value === null || !reach.isSecret(scope, entry.key)
      ? entry
      : { ...entry, value: null, hidden: true };
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
    async run({ key, app }, { caller }) {
      const scope = await scopeOf(caller, app);
      return shown(await store.get(scope, key), scope, caller);
    },
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
      ...WRITING,
    ],
    run: async ({ key, value, ifRevision, app }, { caller }: CallContext) => {
      if (caller.kind !== 'app') capabilities.require(caller, 'system.config');
      const [scope, by] = [await scopeOf(caller, app), await reach.who(caller)];
      const entry = await reach.write(scope, key, value, ifRevision === undefined ? { by } : { by, ifRevision });
      return shown(entry, scope, caller);
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
    async run({ prefix, app }, { caller }) {
      const scope = await scopeOf(caller, app);
      return { entries: (await store.list(scope, prefix)).map((entry) => shown(entry, scope, caller)) };
    },
  };
  const reset: Operation<ResetParams, object> = {
    name: 'config.reset',
    summary: 'Give one layer of a setting back',
    description:
      'Takes the key out of the overrides of the app (`layer: app`), or out of what this device holds (`device`). What the other layers say holds again. Answers with what the layer held, so that it can be taken back.',
    params: exactly(
      {
        key: KEY,
        layer: { enum: ['app', 'device'], description: 'Absent: `app` with `app` and for an app, else `device`.' },
        ifRevision: { type: 'integer', minimum: 0, description: 'Only if the layer still has this revision.' },
        app: APP,
      },
      ['key'],
    ),
    result: {
      type: 'object',
      properties: {
        former: {
          type: 'object',
          required: ['revision'],
          properties: { ...FORMER, value: { description: 'What the layer held; absent for a secret.' } },
          description: 'Absent where the layer held nothing.',
        },
        now: { ...ENTRY, description: 'What is in force now; absent where no layer has the key.' },
      },
    },
    cli: { fixed: ['key'], done: ['{key} = {now.value:json} ({now.source})', '{key} is not set any more'] },
    access: 'An app may give its own overrides back; everybody else needs `system.config`.',
    rest: { method: 'DELETE', path: '/config/:key' },
    errors: ['CONFIG_KEY_INVALID', 'CONFIG_CONFLICT', 'CONFIG_LOCKED', 'CALLER_DENIED', 'APP_NOT_FOUND', ...WRITING],
    async run({ key, app, layer, ifRevision }, { caller }) {
      if (caller.kind !== 'app') capabilities.require(caller, 'system.config');
      else if (layer === 'device')
        throw new CoreError('CALLER_DENIED', {
          verb: 'give back what the device holds',
          reason: 'an app has its own only',
        });
      const scope = await scopeOf(caller, app);
      if (layer === 'app' && scope.app === undefined)
        throw new CoreError('PARAMS_INVALID', {
          where: 'params of config.reset',
          reason: 'app: is required with layer app',
          member: 'app',
        });
      const by = await reach.who(caller);
      const former = await reach.reset(
        layer === 'device' ? {} : scope,
        key,
        ifRevision === undefined ? { by } : { by, ifRevision },
      );
      const now = (await store.list(scope, key)).find((entry) => entry.key === key);
      const hidden = caller.kind !== 'app' && reach.isSecret(scope, key);
      const { value, ...origin } = former ?? {};
      return {
        ...(former && { former: hidden ? origin : { ...origin, value } }),
        ...(now && { now: shown(now, scope, caller) }),
      };
    },
  };
  return [get, set, list, reset] as readonly Operation<never, unknown>[];
}
