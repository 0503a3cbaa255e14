import { callerName } from '@device-core/plugin-api';
import { exactly, STATE_ERRORS } from '@device-core/plugin-api/operation-kit';
import type { ConfigScope } from '@device-core/plugin-api/services/config';
import type { FlagTold } from '@device-core/plugin-api/services/flags';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import { flagsPage } from './page.ts';
import type { FlagValues } from './values.ts';

const NAME: JsonSchema = {
  type: 'string',
  pattern: '^[A-Za-z][A-Za-z0-9_-]*$',
  maxLength: 64,
  description: 'A letter, then letters, digits, "_" and "-".',
};
const APP: JsonSchema = {
  type: 'string',
  description: 'The app whose view is meant, by its id or its name. Absent: the device.',
};
const FLAG: JsonSchema = {
  type: 'object',
  required: ['name', 'value', 'source', 'description', 'schema', 'declaredBy'],
  properties: {
    name: NAME,
    value: { description: 'A boolean, a number or a text.' },
    source: { enum: ['app', 'device', 'default'], description: 'The layer of the configuration in force.' },
    description: { type: 'string' },
    schema: { type: 'object', description: 'JSON Schema of its values, with its default.' },
    declaredBy: { type: 'string', description: '`sku` or `plugin.<id>`.' },
    setBy: { type: 'string' },
    setAt: { type: 'integer', description: 'Milliseconds since the Unix epoch.' },
  },
};
const WRITING = [
  'FLAG_UNKNOWN',
  'APP_NOT_FOUND',
  'CONFIG_LOCKED',
  'QUEUE_FULL',
  'STATE_NEWER',
  ...STATE_ERRORS,
] as const;
const CAPABILITY = 'system.config';

interface View {
  readonly app?: string;
}

interface Named extends View {
  readonly name: string;
}

interface Given extends Named {
  readonly value: unknown;
}

/** An app has no need of these: it reads `config.get flags.<name>` and hears of `config.changed`, as of each setting that it sees. */
export function flagOperations(
  values: FlagValues,
  /** Id of an app by its id or its name. Throws APP_NOT_FOUND. */
  idOf: (app: string) => Promise<string>,
): readonly Operation<never, unknown>[] {
  const scopeOf = async ({ app }: View): Promise<ConfigScope> => (app === undefined ? {} : { app: await idOf(app) });
  const list: Operation<View, { readonly flags: readonly FlagTold[] }> = {
    name: 'flags.list',
    summary: 'Feature flags, their values and who declares them',
    params: exactly({ app: APP }, []),
    result: exactly({ flags: { type: 'array', items: FLAG } }),
    capability: CAPABILITY,
    cli: {
      command: 'flag list',
      columns: ['name', ['VALUE', '{value:json}'], 'source', ['DECLARED BY', '{declaredBy}'], 'description'],
      empty: 'no flag is declared',
    },
    page: flagsPage,
    rest: { method: 'GET', path: '/flags' },
    errors: ['APP_NOT_FOUND'],
    run: async (view) => ({ flags: await values.list(await scopeOf(view)) }),
  };
  const get: Operation<Named, FlagTold> = {
    name: 'flags.get',
    summary: 'Read a feature flag',
    params: exactly({ name: NAME, app: APP }, ['name']),
    result: FLAG,
    capability: CAPABILITY,
    cli: { command: 'flag get', fixed: ['name'], done: '{value:json}' },
    rest: { method: 'GET', path: '/flags/:name' },
    errors: ['FLAG_UNKNOWN', 'APP_NOT_FOUND'],
    run: async (view) => values.one(view.name, await scopeOf(view)),
  };
  const set: Operation<Given, FlagTold> = {
    name: 'flags.set',
    summary: 'Set a feature flag',
    description: 'Durable when answered: of the device, or with `app` what this app sees.',
    params: exactly(
      {
        name: NAME,
        value: {
          not: { type: ['array', 'null', 'object'] },
          description: 'A boolean, a number or a text, as the schema of the flag says.',
        },
        app: APP,
      },
      ['name', 'value'],
    ),
    result: FLAG,
    capability: CAPABILITY,
    cli: { command: 'flag set', fixed: ['name', 'value'], done: '{name} = {value:json} ({source})' },
    rest: { method: 'PUT', path: '/flags/:name' },
    errors: ['CONFIG_VALUE_INVALID', ...WRITING],
    run: async (given, { caller }) => values.set(given.name, given.value, await scopeOf(given), callerName(caller)),
  };
  const reset: Operation<Named, FlagTold> = {
    name: 'flags.reset',
    summary: 'Give a feature flag back to what it is by default',
    description: 'Takes it out of what the device holds, or with `app` out of what this app overrides.',
    params: exactly({ name: NAME, app: APP }, ['name']),
    result: FLAG,
    capability: CAPABILITY,
    cli: { command: 'flag reset', fixed: ['name'], done: '{name} = {value:json} ({source})' },
    rest: { method: 'DELETE', path: '/flags/:name' },
    errors: [...WRITING],
    run: async (view, { caller }) => values.set(view.name, null, await scopeOf(view), callerName(caller)),
  };
  return [list, get, set, reset] as readonly Operation<never, unknown>[];
}
