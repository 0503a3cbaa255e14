import { exactly } from '@device-core/plugin-api/operation-kit';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import type { App } from './app.ts';
import { BUDGETS, type BudgetUse } from './app-budget.ts';
import type { AppMeter } from './app-meter.ts';
import type { Supervisor } from './supervisor.ts';

const ID = { type: 'string', minLength: 1, maxLength: 128, description: 'App id, or its short name.' };
const USE: JsonSchema = {
  type: 'object',
  required: ['budget', 'used', 'limit', 'percent', 'peak', 'proposed'],
  properties: {
    budget: { enum: BUDGETS },
    used: {
      type: 'number',
      description:
        'MB of memory, storage and cache; percent of one processor; processes and threads. Each file and folder counts as 4 KiB of storage at least.',
    },
    limit: { type: 'number' },
    percent: { type: 'integer', description: 'Of the limit.' },
    peak: { type: 'number', description: 'The most that was seen since the Core started.' },
    proposed: { type: 'number', description: 'What its manifest could ask for, from what was seen.' },
  },
};
const UNITS: Readonly<Record<string, string>> = { memory: 'MB', storage: 'MB', cache: 'MB', cpu: '%', tasks: '' };

interface Top {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  /** `52 MB of 128`, by budget. */
  readonly shown: Readonly<Record<string, string>>;
  readonly usage: readonly BudgetUse[];
}

/** Usage of apps, against their limits. */
export function usageOperations(supervisor: Supervisor, meter: AppMeter): readonly Operation<never, unknown>[] {
  const now = async (app: App): Promise<readonly BudgetUse[]> => {
    await Promise.all([
      meter.look(app),
      app.budget.uses().some(({ budget }) => budget === 'storage') ? undefined : meter.lookAtStorage(app),
    ]);
    return app.budget.uses();
  };
  const top: Operation<object, { readonly apps: readonly Top[] }> = {
    name: 'apps.top',
    summary: 'Resource use of every app now, against its budgets',
    params: { type: 'object', additionalProperties: false, properties: {} },
    result: {
      type: 'object',
      required: ['apps'],
      properties: {
        apps: {
          type: 'array',
          items: {
            type: 'object',
            required: ['id', 'name', 'state', 'shown', 'usage'],
            properties: {
              id: { type: 'string' },
              name: { type: 'string' },
              state: { type: 'string' },
              shown: {
                type: 'object',
                additionalProperties: { type: 'string' },
                description: 'For people, by budget: `52 of 128 MB`.',
              },
              usage: { type: 'array', items: USE },
            },
          },
        },
      },
    },
    capability: 'system.apps',
    cli: {
      columns: [
        ['APP', '{id}'],
        'state',
        ['MEMORY', '{shown.memory}'],
        ['CPU', '{shown.cpu}'],
        ['TASKS', '{shown.tasks}'],
        ['STORAGE', '{shown.storage}'],
        ['CACHE', '{shown.cache}'],
      ],
      empty: 'no apps; add one with: npm start -- --app <folder>',
    },
    rest: { method: 'GET', path: '/apps/usage' },
    errors: [],
    async run() {
      const apps = supervisor.all().toSorted((a, b) => a.manifest.id.localeCompare(b.manifest.id));
      return {
        apps: await Promise.all(
          apps.map(async (app) => {
            const usage = await now(app);
            const { id, name } = app.manifest;
            const shown = usage.map((use) => [use.budget, `${use.used} of ${use.limit} ${UNITS[use.budget]}`.trim()]);
            return { id, name, state: app.state, shown: Object.fromEntries(shown), usage };
          }),
        ),
      };
    },
  };
  const usage: Operation<{ readonly id: string }, { readonly app: string; readonly usage: readonly BudgetUse[] }> = {
    name: 'apps.usage',
    summary: 'Resource use of one app now, against its budgets, and a proposal for its manifest',
    params: exactly({ id: ID }),
    result: {
      type: 'object',
      required: ['app', 'usage'],
      properties: { app: { type: 'string' }, usage: { type: 'array', items: USE } },
    },
    capability: 'system.apps',
    cli: [
      { columns: ['budget', 'used', 'limit', 'percent'], hide: ['app'], empty: 'nothing was measured; it has not run' },
      {
        command: 'app budget',
        columns: ['budget', 'peak', 'limit', 'proposed'],
        hide: ['app'],
        empty: 'nothing was measured; start it and let it work',
      },
    ],
    rest: { method: 'GET', path: '/apps/:id/usage' },
    errors: ['APP_NOT_FOUND', 'MANIFEST_INVALID', 'CAPABILITY_UNKNOWN'],
    async run({ id }) {
      const app = supervisor.find(id);
      return { app: app.manifest.id, usage: await now(app) };
    },
  };
  return [top, usage];
}
