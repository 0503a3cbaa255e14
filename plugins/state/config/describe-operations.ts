import { type Caller, type Capabilities, CoreError } from '@device-core/plugin-api';
import { type AppNames, exactly } from '@device-core/plugin-api/operation-kit';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import type { Description, Descriptions, SectionInfo, Wanted } from './descriptions.ts';

const KIND: JsonSchema = { enum: ['app', 'device', 'plugin'] };
const WHO = {
  setBy: { type: 'string', description: '`operator`, `operator (<browser>)`, `app.<id>` or `file`.' },
  setAt: { type: 'integer', description: 'Milliseconds since the Unix epoch.' },
} as const;
const LAYER_SOURCE: JsonSchema = {
  enum: ['app', 'device', 'default', 'sku', 'builtin'],
  description:
    'From highest to lowest: override of the app, this device, files of the system, the product (SKU), what the app or the plugin brings along.',
};
const LAYER: JsonSchema = {
  type: 'object',
  required: ['source', 'revision', 'wins', 'writable'],
  properties: {
    source: LAYER_SOURCE,
    value: { description: 'Any JSON; absent for a secret.' },
    hidden: { const: true, description: 'There is a value, and it is a secret.' },
    revision: { type: 'integer', description: 'For `ifRevision` of `config.reset`.' },
    ...WHO,
    wins: { type: 'boolean', description: 'It is the one in force.' },
    writable: { type: 'boolean', description: '`config.reset` gives it back.' },
    misfit: { type: 'string', description: 'Why the value is not used.' },
  },
};
const DESCRIPTION: JsonSchema = {
  type: 'object',
  required: ['section', 'key', 'name', 'schema', 'secret', 'layers', 'revision', 'overridden', 'writable', 'applies'],
  properties: {
    section: { type: 'object', required: ['kind', 'id'], properties: { kind: KIND, id: { type: 'string' } } },
    key: { type: 'string', description: 'For `config.set`, for a section of an app with its `app`.' },
    name: { type: 'string', description: 'The key within its section.' },
    schema: { type: 'object', description: 'JSON Schema of the value; empty where nothing is known of it.' },
    secret: { type: 'boolean' },
    value: { description: 'In force; absent for a secret, and where no layer has one.' },
    source: LAYER_SOURCE,
    ...WHO,
    layers: { type: 'array', items: LAYER, description: 'The highest first.' },
    running: { description: 'What the plugin runs with, where that is not what the layers say.' },
    revision: { type: 'integer', description: 'For `ifRevision` of `config.set`.' },
    overridden: { type: 'boolean', description: 'This device or the app overrides it.' },
    writable: { type: 'boolean' },
    skuOnly: { type: 'boolean', description: 'The SKU alone decides it: no device and no page can change it.' },
    locked: {
      type: 'object',
      required: ['pattern'],
      properties: { pattern: { type: 'string' }, reason: { type: 'string' } },
      description: 'The OEM keeps it at its default.',
    },
    applies: { enum: ['live', 'restart'], description: '`restart`: its plugin starts again with the new value.' },
  },
};

export function describeOperations(
  descriptions: Descriptions,
  capabilities: Capabilities,
  names: AppNames,
  knows: (app: string) => Promise<boolean>,
): readonly Operation<never, unknown>[] {
  const describe: Operation<Wanted, { readonly keys: readonly Description[]; readonly next?: string }> = {
    name: 'config.describe',
    summary: 'Each setting with its description and its value in every layer',
    description:
      'Of all apps and plugins and of the device, or of one of them; an app sees its own. Values of secrets are left out. Page by page: `next` of an answer is `after` of the next call.',
    params: exactly(
      {
        app: { type: 'string', description: 'Only this app, by its id or its name.' },
        plugin: { type: 'string', description: 'Only this plugin.' },
        device: { type: 'boolean', default: false, description: 'Only what belongs to the device itself.' },
        prefix: { type: 'string', maxLength: 128, description: 'Only this key and those below it.' },
        search: { type: 'string', maxLength: 100, description: 'Words in key, title or description, all of them.' },
        overridesOnly: { type: 'boolean', default: false, description: 'Only what this device or an app overrides.' },
        limit: { type: 'integer', minimum: 1, maximum: 500, default: 200 },
        after: { type: 'string', maxLength: 400 },
      },
      [],
    ),
    result: {
      type: 'object',
      required: ['keys'],
      properties: { keys: { type: 'array', items: DESCRIPTION }, next: { type: 'string' } },
    },
    cli: {
      fixed: ['prefix'],
      columns: [
        'key',
        ['VALUE', '{value:json}'],
        'source',
        ['SET BY', '{setBy}'],
        'applies',
        ['LOCKED', '{locked.pattern}'],
      ],
      empty: 'there is no such setting',
    },
    access: 'Every identified caller may use it for itself; the rest needs `system.config`.',
    rest: { method: 'GET', path: '/config-descriptions' },
    errors: ['CAPABILITY_DENIED', 'APP_NOT_FOUND', 'PLUGIN_NOT_FOUND'],
    async run(wanted, { caller }) {
      const app = await scopeOf(caller, wanted, capabilities, names);
      if (app !== undefined && caller.kind !== 'app' && !(await knows(app)))
        throw new CoreError('APP_NOT_FOUND', { app });
      return descriptions.list({ ...wanted, app });
    },
  };
  const sections: Operation<object, { readonly sections: readonly SectionInfo[] }> = {
    name: 'config.sections',
    summary: 'Owners of settings: apps, plugins and the device',
    params: exactly({}, []),
    result: {
      type: 'object',
      required: ['sections'],
      properties: {
        sections: {
          type: 'array',
          items: {
            type: 'object',
            required: ['kind', 'id', 'title', 'keys', 'overrides'],
            properties: {
              kind: KIND,
              id: { type: 'string' },
              title: { type: 'string' },
              keys: { type: 'integer' },
              overrides: { type: 'integer', description: 'How many of them this device or the app overrides.' },
            },
          },
        },
      },
    },
    cli: { columns: ['kind', 'id', 'title', 'keys', 'overrides'], empty: 'no settings' },
    capability: 'system.config',
    rest: { method: 'GET', path: '/config-sections' },
    errors: [],
    run: async () => ({ sections: await descriptions.sections() }),
  };
  return [describe, sections] as unknown as readonly Operation<never, unknown>[];
}

/** The app that is meant; an app has its own only. Throws CAPABILITY_DENIED. */
async function scopeOf(
  caller: Caller,
  { app, plugin, device }: Wanted,
  capabilities: Capabilities,
  names: AppNames,
): Promise<string | undefined> {
  const id = app === undefined ? undefined : await names.idOf(app);
  if (caller.kind === 'app' && plugin === undefined && !device && (id === undefined || id === caller.id))
    return caller.id;
  capabilities.require(caller, 'system.config');
  return id;
}
