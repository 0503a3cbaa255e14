import { type Command, InvalidArgumentError, Option } from 'commander';
import { action, type Cli } from '../cli.ts';
import { usage } from '../failure.ts';
import { cell, duration, paint, timeOf } from '../output.ts';

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

export function addLogs(program: Command): void {
  program
    .command('logs')
    .description('the log of the Core, or of an app')
    .option('-f, --follow', 'go on with what comes, until Ctrl-C')
    .option('--plugin <id>', 'only lines of this plugin')
    .option('--app <id>', "an app's own log instead")
    .addOption(new Option('--level <level>', 'at least this level').choices(LEVELS))
    .option('--since <when>', 'a time (2026-01-31T12:00) or so long ago (90s, 10m, 2h, 1d)')
    .option('-n, --lines <n>', 'at most so many of the newest lines', lines, 50)
    .option('--last-start', 'how the start before this one went, and which plugins to look at')
    .action(
      action<[], Options>(async (cli, _, options) => {
        if (options.lastStart) return await showLastStart(cli);
        const { plugin, app, level } = options;
        const selection = { plugin, app, level };
        if (options.follow) {
          if (options.since !== undefined) throw usage('give --since or --follow, not both');
          return await follow(cli, { ...selection, tail: options.lines });
        }
        const since = options.since === undefined ? undefined : moment(options.since);
        const answer = await cli.client.get('/logs', { query: { ...selection, since, limit: options.lines } });
        if (cli.out.json) return cli.out.line(answer.text);
        for (const entry of answer.body.entries as readonly Entry[]) await cli.out.line(describe(entry));
      }),
    );
}

async function follow({ client, out }: Cli, query: Record<string, string | number | undefined>): Promise<void> {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  for await (const { data } of client.stream('/logs/stream', { query }, stop.signal))
    await out.line(out.json ? data : describe(JSON.parse(data) as Entry));
}

async function showLastStart({ client, out }: Cli): Promise<void> {
  const answer = await client.get('/logs/last-start');
  if (out.json) return out.line(answer.text);
  const last = answer.body.lastStart as LastStart | null;
  if (!last) return out.line('the log does not reach back to another start');
  const ago = last.ts === undefined ? '' : `, ${duration(Date.now() - last.ts)} ago`;
  await out.line(`last start  ${cell(last.sku)}${ago}`);
  await out.line(`ended       ${last.outcome === 'stopped' ? last.outcome : paint('red', cell(last.outcome))}`);
  await out.line(`suspects    ${last.suspects.map(cell).join(' ') || 'none'}`);
  for (const entry of last.problems) await out.line(describe(entry));
}

function describe({ ts, level, plugin, app, message, fields }: Entry): string {
  const colour = COLOURS[level as keyof typeof COLOURS];
  const word = level.padEnd(5);
  const who = plugin ?? (app === undefined ? 'core' : `app.${app}`);
  const { err, ...rest } = fields ?? {};
  const error = err as { readonly message?: string } | undefined;
  const reason = error?.message && !message.includes(error.message) ? `: ${cell(error.message)}` : '';
  const more = Object.keys(rest).length === 0 ? '' : ` ${paint('dim', cell(rest))}`;
  const time = ts === undefined ? ' '.repeat(12) : timeOf(ts);
  return `${paint('dim', time)} ${colour ? paint(colour, word) : word} ${paint('bold', cell(who))} ${cell(message)}${reason}${more}`;
}

/** Milliseconds since the Unix epoch. */
function moment(text: string): number {
  const [, amount, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const at = amount === undefined ? Date.parse(text) : Date.now() - Number(amount) * UNITS[unit!]!;
  if (Number.isNaN(at)) throw usage(`--since must be a time or a length such as 10m, not "${text}"`);
  return Math.max(0, at);
}

function lines(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text) || Number(text) > 1000)
    throw new InvalidArgumentError('it must be a whole number from 1 to 1000');
  return Number(text);
}
