import {
  cell,
  defineProgram,
  duration,
  type ProgramContext,
  type ProgramOutput,
  timeOf,
  usage,
} from '@device-core/plugin-api/program';

const LEVELS = ['debug', 'info', 'warn', 'error', 'fatal'];
const COLOURS = { warn: 'yellow', error: 'red', fatal: 'red' } as const;
const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

interface Options {
  readonly follow?: boolean;
  readonly lastStart?: boolean;
  readonly plugin?: string;
  readonly app?: string;
  readonly level?: string;
  readonly since?: string;
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
    const { plugin, app, level, lines, since } = args;
    if (args.lastStart) return showLastStart(context);
    const selection = { plugin, app, level };
    if (args.follow) {
      if (since !== undefined) throw usage('give --since or --follow, not both');
      return follow(context, { ...selection, tail: lines });
    }
    const from = since === undefined ? undefined : moment(since);
    const answer = await client.get('/logs', { query: { ...selection, since: from, limit: lines } });
    if (out.json) return out.line(answer.text);
    for (const entry of answer.body.entries as readonly Entry[]) await out.line(describe(out, entry));
  },
});

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

/** Milliseconds since the Unix epoch. */
function moment(text: string): number {
  const [, amount, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const at = amount === undefined ? Date.parse(text) : Date.now() - Number(amount) * UNITS[unit!]!;
  if (Number.isNaN(at)) throw usage(`--since must be a time or a length such as 10m, not "${text}"`);
  return Math.max(0, at);
}
