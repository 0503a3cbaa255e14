import { type Clock, CoreError, type Logger, maybe } from '@device-core/plugin-api';
import { redact } from '@device-core/plugin-api/inside/redact';
import type { OutputLine } from '@device-core/plugin-api/inside/services/app-supervisor';
import type { Operation } from '@device-core/plugin-api/services/operations';
import { callingApp } from './app-operations.ts';
import type { Supervisor } from './supervisor.ts';

const NOTHING = { type: 'object', properties: {} };
const MAX_FIELDS = 16 * 1024;

interface LogLine {
  readonly level: keyof Logger;
  readonly message: string;
  readonly fields?: object;
}

interface OwnHealth {
  readonly status: string;
  readonly message?: string;
}

/** Operations by which an app reports about itself. */
export function reportingOperations(
  supervisor: Supervisor,
  log: Logger,
  clock: Clock,
): readonly Operation<never, unknown>[] {
  const write: Operation<LogLine, object> = {
    name: 'log.write',
    summary: "Write a line into the app's log",
    description: "One JSON object a line, in the app's log file and in the log of the Core. Write no secrets.",
    params: {
      type: 'object',
      required: ['level', 'message'],
      additionalProperties: false,
      properties: {
        level: { enum: ['debug', 'info', 'warn', 'error'] },
        message: { type: 'string', maxLength: 8192 },
        fields: { type: 'object', description: 'At most 16 KiB as JSON.' },
      },
    },
    result: NOTHING,
    access: 'Apps only, each for itself.',
    errors: ['CALLER_DENIED', 'APP_NOT_FOUND', 'RATE_LIMITED', 'PARAMS_INVALID'],
    async run({ level, message, fields }, call) {
      const app = callingApp(supervisor, 'write a log', call);
      const { id } = app.manifest;
      const retryAfterMs = app.output.logRate.take(clock.monotonic());
      if (retryAfterMs > 0)
        throw new CoreError('RATE_LIMITED', {
          caller: `app.${id}`,
          limit: 'its rate',
          what: 'log.write',
          retryAfterMs,
        });
      if (fields && JSON.stringify(fields).length > MAX_FIELDS)
        throw new CoreError('PARAMS_INVALID', { where: 'fields', reason: `at most ${MAX_FIELDS} characters as JSON` });
      log[level]({ app: id, ...maybe({ fields }) }, message);
      const said = redact({ text: message, ...maybe({ fields }) }) as Pick<OutputLine, 'text' | 'fields'>;
      await app.output.write({ level, ...said });
      return {};
    },
  };
  const health: Operation<OwnHealth, object> = {
    name: 'health.report',
    summary: 'Tell how the app is',
    description:
      'Shown in /health as app.<name> until the next report. An app of health kind `report` must do so in time.',
    params: {
      type: 'object',
      required: ['status'],
      additionalProperties: false,
      properties: {
        status: { enum: ['okay', 'waiting', 'blocked', 'error'] },
        message: { type: 'string', maxLength: 500 },
      },
    },
    result: NOTHING,
    access: 'Apps only, each for itself.',
    errors: ['CALLER_DENIED', 'APP_NOT_FOUND'],
    async run({ status, message }, call) {
      callingApp(supervisor, 'report health', call).heard.report(status, message);
      return {};
    },
  };
  return [write, health];
}
