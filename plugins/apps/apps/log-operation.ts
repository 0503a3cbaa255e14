import type { AppSupervisor, OutputLine } from '@device-core/plugin-api/inside/services/app-supervisor';
import type { Operation } from '@device-core/plugin-api/services/operations';
import type { Supervisor } from './supervisor.ts';

const LINES = 50;

interface Asked {
  readonly id: string;
  readonly lines?: number;
}

/** Log lines of an app, wherever its supervisor keeps them. */
export function logOperation(
  supervisor: Supervisor,
  below: AppSupervisor,
): Operation<Asked, { readonly lines: readonly OutputLine[] }> {
  return {
    name: 'apps.logs',
    summary: 'The newest lines that an app wrote',
    description: 'What it printed and what it wrote by log.write, of this run and of those before, the oldest first.',
    params: {
      type: 'object',
      required: ['id'],
      additionalProperties: false,
      properties: {
        id: { type: 'string', minLength: 1, maxLength: 128, description: 'App id, or its short name.' },
        lines: { type: 'integer', minimum: 1, maximum: 1000, default: LINES, description: 'at most so many' },
      },
    },
    result: {
      type: 'object',
      required: ['lines'],
      properties: {
        lines: {
          type: 'array',
          items: {
            type: 'object',
            required: ['at', 'level', 'text'],
            properties: {
              at: { type: 'integer', description: 'milliseconds since the Unix epoch' },
              level: { enum: ['debug', 'info', 'warn', 'error'] },
              from: { enum: ['stdout', 'stderr', 'log'], description: '`log`: by log.write' },
              text: { type: 'string' },
              run: {
                type: 'string',
                description: 'Which run wrote it; absent for lines from before the Core started.',
              },
              fields: { type: 'object', description: 'What else a line of JSON said.' },
            },
          },
        },
      },
    },
    capability: 'system.apps',
    cli: {
      fixed: ['id'],
      flags: { lines: ['lines', 'n'] },
      columns: [['AT', '{at:time}'], 'level', 'text'],
      empty: 'it wrote nothing',
    },
    rest: { method: 'GET', path: '/apps/:id/logs' },
    errors: ['APP_NOT_FOUND', 'MANIFEST_INVALID', 'CAPABILITY_UNKNOWN'],
    async run({ id, lines = LINES }) {
      return { lines: await below.output(supervisor.find(id).manifest.name, lines) };
    },
  };
}
