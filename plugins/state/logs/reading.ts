import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import type { LogsConfig } from './configuration.ts';
import { LEVELS, type LogEntry, readEntry } from './entry.ts';
import { type LogFilter, matcher } from './filter.ts';
import type { LogFiles } from './log-files.ts';
import { linesBackwards } from './log-tail.ts';
import { Pace } from './pace.ts';

export interface Selection extends LogFilter {
  readonly app?: string;
}

export const SELECTION: Readonly<Record<string, JsonSchema>> = {
  plugin: { type: 'string', description: 'lines of this plugin only' },
  app: { type: 'string', description: 'the log of this app, by id or name, instead of the log of the Core' },
  level: { enum: LEVELS, description: 'the least one' },
  since: { type: 'integer', minimum: 0, description: 'milliseconds since the Unix epoch' },
  grep: {
    type: 'string',
    minLength: 1,
    maxLength: 300,
    description:
      'lines with this text in their first 4096 characters; /text/ or /text/i is an expression without references',
  },
};
/** After a clock was set back older lines are the newer ones: so many old ones in a row are the end. */
const OLD_LINES = 2_000;
export const ENTRY: JsonSchema = {
  type: 'object',
  required: ['level', 'message'],
  properties: {
    ts: { type: 'integer', description: 'milliseconds since the Unix epoch; what an app printed has none' },
    level: { enum: LEVELS },
    plugin: { type: 'string' },
    app: { type: 'string' },
    message: { type: 'string' },
    fields: { type: 'object', description: 'what else the line says', additionalProperties: true },
  },
};

interface Params extends Selection {
  readonly limit: number;
}

interface Answer {
  readonly entries: readonly LogEntry[];
  /** There may be more that match before these. */
  readonly more: boolean;
}

export function readOperation(files: LogFiles, config: LogsConfig): Operation<Params, Answer> {
  return {
    name: 'logs.read',
    summary: 'the newest lines of the log of the Core, or of an app, oldest of them first',
    capability: 'system.logs',
    params: {
      type: 'object',
      properties: {
        ...SELECTION,
        limit: { type: 'integer', minimum: 1, maximum: 1000, default: 100 },
      },
    },
    result: {
      type: 'object',
      required: ['entries', 'more'],
      properties: {
        entries: { type: 'array', items: ENTRY },
        more: { type: 'boolean', description: 'there may be earlier lines that match' },
      },
    },
    rest: { method: 'GET', path: '/logs' },
    errors: ['APP_NOT_FOUND', 'PARAMS_INVALID'],
    run: async (params, { signal }) => readNewest(await files.of(params.app), params, config, Infinity, signal),
  };
}

/** The newest entries before byte `end` of the file that match, within the bounds of the configuration. */
export async function readNewest(
  file: string,
  { app, limit, ...filter }: Params,
  config: LogsConfig,
  end: number,
  signal?: AbortSignal,
): Promise<Answer> {
  const matches = matcher(filter);
  const budget = { bytes: config.scanBytes };
  const pace = new Pace();
  const entries: LogEntry[] = [];
  let bytes = 0;
  let more = false;
  let old = 0;
  for await (const line of linesBackwards(file, budget, end)) {
    signal?.throwIfAborted();
    if (pace.isDue) await pace.rest();
    if (pace.isSpent) {
      more = true;
      break;
    }
    const entry = readEntry(line, app);
    old = filter.since !== undefined && entry.ts !== undefined && entry.ts < filter.since ? old + 1 : 0;
    if (old > OLD_LINES) break;
    if (!matches(entry)) continue;
    bytes += line.length;
    more = entries.length === limit || bytes > config.answerBytes;
    if (more) break;
    entries.push(entry);
  }
  return { entries: entries.reverse(), more: more || (budget.bytes <= 0 && old === 0) };
}
