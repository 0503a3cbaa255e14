import { didYouMean } from '@device-core/plugin-api';
import {
  cell,
  defineProgram,
  duration,
  EXIT,
  Failure,
  type ProgramContext,
  type ProgramOutput,
  timeOf,
} from '@device-core/plugin-api/program';
import { moment } from './times.ts';

const LEVELS = ['debug', 'info', 'warn', 'error', 'fatal'];
const COLOURS = { warn: 'yellow', error: 'red', fatal: 'red' } as const;

interface Options {
  readonly follow?: boolean;
  readonly lastStart?: boolean;
  readonly plugin?: string;
  readonly app?: string;
  readonly level?: string;
  readonly since?: string;
  readonly grep?: string;
  readonly lines: number;
}

interface Entry {
  readonly ts?: number;
  readonly level: string;
  readonly plugin?: string;
  readonly app?: string;
  readonly message: string;
  readonly fields?: Readonly<Record<string, unknown>>;
}

interface Named {
  readonly id: string;
  /** The short one of an app. */
  readonly name?: string;
}

interface LastStart {
  readonly ts?: number;
  readonly sku: string;
  readonly outcome: string;
  readonly suspects: readonly string[];
  readonly problems: readonly Entry[];
}

type Log = ProgramContext<Options>;

/** `devicectl log` */
export const program = defineProgram<Options>({
  params: {
    type: 'object',
    properties: {
      follow: { type: 'boolean', description: 'go on with what comes, until Ctrl-C' },
      plugin: { type: 'string', description: 'only lines of this plugin' },
      app: { type: 'string', description: "an app's own log instead" },
      level: { enum: LEVELS, description: 'at least this level' },
      since: { type: 'string', description: 'a time (2026-01-31T12:00) or so long ago (90s, 10m, 2h, 1d)' },
      grep: { type: 'string', description: 'only lines that hold this text; /text/ or /text/i is an expression' },
      lines: {
        type: 'integer',
        minimum: 1,
        maximum: 1000,
        default: 50,
        description: 'so many of the newest lines at most',
      },
      lastStart: { type: 'boolean', description: 'how the start before this one went, and which plugins to look at' },
    },
  },
  cli: { flags: { follow: ['follow', 'f'], lines: ['lines', 'n'] } },
  async run(context) {
    const { client, out, args } = context;
    const { plugin, app, level, lines, since, grep } = args;
    if (args.lastStart) return showLastStart(context);
    const selection = { plugin, app, level, since: since === undefined ? undefined : moment(since), grep };
    if (args.follow) {
      await refuseUnknown(context);
      return follow(context, { ...selection, tail: lines });
    }
    const answer = await client.get('/logs', { query: { ...selection, limit: lines } });
    const entries = answer.body.entries as readonly Entry[];
    if (entries.length === 0) await refuseUnknown(context);
    // A line each, as with --follow: what reads one reads the other.
    for (const entry of entries) await out.line(out.json ? JSON.stringify(entry) : describe(out, entry));
  },
});

/**
 * A name that neither the device nor its log knows is a slip of the pen: nothing will ever come of it. What was removed
 * may have left lines.
 */
async function refuseUnknown({ client, args: { plugin, app } }: Log): Promise<void> {
  const refuse = async (what: 'app' | 'plugin', name: string, query: object): Promise<void> => {
    // Safe mode has no apps plugin: nothing is known of them then.
    const told = await client.get(`/${what}s`, { accept: [404, 503] });
    if (told.status !== 200) return;
    const there = (told.body[`${what}s`] as readonly Named[]).flatMap(({ id, name }) => [id, ...(name ? [name] : [])]);
    if (there.includes(name)) return;
    const lines = (await client.get('/logs', { query: { ...query, limit: 1 } })).body.entries as readonly Entry[];
    if (lines.length > 0) return;
    const text = `there is no ${what} ${cell(name)}, and the log has no line of it${didYouMean(name, there)}`;
    throw new Failure(EXIT.answered, what === 'app' ? 'APP_NOT_FOUND' : 'PLUGIN_NOT_FOUND', text, {
      hint: `see: devicectl ${what} list`,
    });
  };
  if (app !== undefined) await refuse('app', app, { app });
  if (plugin !== undefined) await refuse('plugin', plugin, { plugin });
}

async function follow(
  { client, out, signal }: Log,
  query: Readonly<Record<string, string | number | undefined>>,
): Promise<void> {
  for await (const { data } of client.stream('/logs/stream', { query }, signal))
    await out.line(out.json ? data : describe(out, JSON.parse(data) as Entry));
}

async function showLastStart({ client, out }: Log): Promise<void> {
  const answer = await client.get('/logs/last-start');
  if (out.json) return out.line(answer.text);
  const last = answer.body.lastStart as LastStart | null;
  if (!last) return out.line('the log does not reach back to another start');
  const ago = last.ts === undefined ? '' : `, ${duration(Date.now() - last.ts)} ago`;
  await out.line(`last start  ${cell(last.sku)}${ago}`);
  await out.line(`ended       ${last.outcome === 'stopped' ? last.outcome : out.paint('red', cell(last.outcome))}`);
  await out.line(`suspects    ${last.suspects.map(cell).join(' ') || 'none'}`);
  for (const entry of last.problems) await out.line(describe(out, entry));
}

function describe(out: ProgramOutput, { ts, level, plugin, app, message, fields }: Entry): string {
  const colour = COLOURS[level as keyof typeof COLOURS];
  const word = level.padEnd(5);
  const who = plugin ?? (app === undefined ? 'core' : `app.${app}`);
  const { err, ...rest } = fields ?? {};
  const error = err as { readonly message?: string } | undefined;
  const reason = error?.message && !message.includes(error.message) ? `: ${cell(error.message)}` : '';
  const more = Object.keys(rest).length === 0 ? '' : ` ${out.paint('dim', cell(rest))}`;
  const time = ts === undefined ? ' '.repeat(12) : timeOf(ts);
  return `${out.paint('dim', time)} ${colour ? out.paint(colour, word) : word} ${out.paint('bold', cell(who))} ${cell(message)}${reason}${more}`;
}
