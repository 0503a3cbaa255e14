import { maybe } from '@device-core/plugin-api';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import type { LogsConfig } from './configuration.ts';
import { type LogEntry, readEntry } from './entry.ts';
import type { LogFiles } from './log-files.ts';
import { linesBackwards } from './log-tail.ts';
import { ENTRY } from './reading.ts';

const OUTCOMES = ['unfinished', 'refused', 'crashed', 'killed', 'stopped'] as const;
/** Status of a Core that ended because of an error that was no plugin's. */
const EXIT_INTERNAL = 70;
/** Errors and warnings shown of one run. */
const PROBLEMS = 20;

/** How the start before this one went. */
export interface LastStart {
  /** Milliseconds since the Unix epoch. */
  readonly ts?: number;
  readonly sku: string;
  /**
   * `unfinished`: it never got ready, and ended without a word or was killed (a plugin hung, or there was no power);
   * `refused`: the SKU cannot run; `crashed`: an error or process.exit() ended it; `killed`: it ran, and ended without
   * a word; `stopped`: in order, by a signal.
   */
  readonly outcome: (typeof OUTCOMES)[number];
  /** Plugins that were still starting when it ended, or that the errors name; the most likely to blame first. */
  readonly suspects: readonly string[];
  /** Warnings and errors of that run, oldest first; the newest of them if there are many. */
  readonly problems: readonly LogEntry[];
}

export function lastStartOperation(
  files: LogFiles,
  config: LogsConfig,
): Operation<never, { readonly lastStart: LastStart | null }> {
  return {
    name: 'logs.lastStart',
    summary: 'how the start before this one went (of the normal SKU, when this is safe mode) and who is to blame',
    capability: 'system.logs',
    params: { type: 'object' },
    result: {
      type: 'object',
      required: ['lastStart'],
      properties: {
        lastStart: { anyOf: [{ type: 'null', description: 'the log does not reach that far' }, LAST_START] },
      },
    },
    rest: { method: 'GET', path: '/logs/last-start' },
    errors: [],
    run: async () => ({ lastStart: (await readLastStart(files.core, config.scanBytes)) ?? null }),
  };
}

const LAST_START: JsonSchema = {
  type: 'object',
  required: ['sku', 'outcome', 'suspects', 'problems'],
  properties: {
    ts: { type: 'integer', description: 'milliseconds since the Unix epoch' },
    sku: { type: 'string' },
    outcome: {
      enum: OUTCOMES,
      description:
        'unfinished: never ready, then gone without a word; refused: the SKU cannot run; crashed: an error or process.exit() ended it; killed: it ran, then gone without a word; stopped: in order',
    },
    suspects: { type: 'array', items: { type: 'string' }, description: 'plugins, the most likely to blame first' },
    problems: { type: 'array', items: ENTRY },
  },
};

/** The run of a normal SKU before the one that goes on now. */
export async function readLastStart(file: string, scanBytes: number): Promise<LastStart | undefined> {
  let run: LogEntry[] = [];
  let own = true;
  for await (const line of linesBackwards(file, { bytes: scanBytes })) {
    const entry = readEntry(line);
    if (entry.fields?.run !== 'starts') run.push(entry);
    else if (own || entry.fields.safeMode === true) {
      own = false;
      run = [];
    } else return describe(entry, run.reverse());
  }
  return undefined;
}

function describe(start: LogEntry, run: readonly LogEntry[]): LastStart {
  const problems = run.filter(({ level }) => level !== 'debug' && level !== 'info');
  const { ts } = start;
  return {
    ...maybe({ ts }),
    sku: String(start.fields?.sku ?? ''),
    outcome: outcomeOf(run),
    suspects: suspectsOf(run),
    problems: problems.slice(-PROBLEMS),
  };
}

function outcomeOf(run: readonly LogEntry[]): LastStart['outcome'] {
  const said = (what: string) => run.find(({ fields }) => fields?.run === what);
  const end = said('ends');
  // An unhandled error that one plugin could be named for is fatal, too, but the Core went on.
  if (end?.level === 'fatal' || end?.fields?.code === EXIT_INTERNAL) return 'crashed';
  if (said('stops')) return 'stopped';
  if (end) return 'refused';
  return said('ready') ? 'killed' : 'unfinished';
}

/** Suspects: plugins of the last error or with a file in it, plugins that were starting, the last one first, and plugins that failed. */
function suspectsOf(run: readonly LogEntry[]): readonly string[] {
  const states = new Map<string, string>();
  for (const { plugin, fields } of run) {
    if (plugin === undefined || typeof fields?.state !== 'string') continue;
    states.delete(plugin);
    states.set(plugin, fields.state);
  }
  const ready = run.some(({ fields }) => fields?.run === 'ready');
  const latest = [...states].reverse();
  const fatal = run.filter(({ level }) => level === 'fatal');
  const named = fatal.flatMap(({ plugin, fields }) => [plugin ?? [], pluginsIn(fields?.err)].flat());
  const starting = ready ? [] : latest.filter(([, state]) => state === 'starting').map(([id]) => id);
  const failed = latest.filter(([, state]) => state === 'failed' || state === 'quarantined').map(([id]) => id);
  return [...new Set([...named.filter((id) => states.has(id)), ...starting, ...failed])];
}

/** Names of the folders in a stack, nearest first: the folder of a plugin bears its id. */
function pluginsIn(err: unknown): readonly string[] {
  const { stack } = (err ?? {}) as { readonly stack?: unknown };
  return typeof stack === 'string'
    ? [...stack.matchAll(/\/([a-z][a-z0-9-]*)(?=\/[^/\s]+:\d+:\d+)/g)].map(([, id = '']) => id)
    : [];
}
