import { setTimeout as sleep } from 'node:timers/promises';
import type { Isolation, LoopUsage, PluginState, PluginUsage, SampledUsage } from '@device-core/plugin-api';
import { type Command, InvalidArgumentError } from 'commander';
import { action, type Cli } from '../cli.ts';
import { cell, paint } from '../output.ts';

interface TopOptions {
  readonly once?: boolean;
  readonly interval: number;
  readonly sample?: number;
}

interface Usage {
  readonly uptimeMs: number;
  readonly eventLoop: LoopUsage;
  readonly plugins: readonly (PluginUsage & { readonly state?: PluginState; readonly isolation?: Isolation })[];
}

const HEADERS = [
  'PLUGIN',
  'LEVEL',
  'STATE',
  'CPU %',
  'BUSY ms/s',
  'LONGEST',
  'HEAP',
  'OPS/s',
  'EVENTS/s',
  'ERRORS',
  '',
];
/** From the cursor's home to the end of the screen. */
const CLEAR = '\u001b[H\u001b[J';

export function addTop(program: Command): void {
  program
    .command('top')
    .description('what each plugin takes of the CPU and the event loop, until Ctrl-C')
    .option('--once', 'one table, over one interval')
    .option('--interval <seconds>', 'how often', seconds, 1)
    .option(
      '--sample <seconds>',
      'look at all running code for so long instead, what runs after an await included',
      seconds,
    )
    .action(
      action<[], TopOptions>(async (cli, _, options) => {
        if (options.sample !== undefined) return sample(cli, options.sample * 1000);
        await watch(cli, options);
      }),
    );
}

async function watch({ client, out }: Cli, { once = false, interval }: TopOptions): Promise<void> {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  let former: Usage | undefined;
  while (!stop.signal.aborted) {
    const answer = await client.get('/plugins/usage');
    const usage = answer.body as unknown as Usage;
    if (out.json) await out.line(answer.text);
    else if (former) {
      await show({ out }, former, usage, !once && process.stdout.isTTY === true);
      if (!once && !process.stdout.isTTY) await out.line('');
    }
    if (once && (out.json || former)) return;
    former = usage;
    await sleep(interval * 1000, undefined, { signal: stop.signal }).catch(() => undefined); // Ctrl-C ends the wait
  }
}

async function show({ out }: Pick<Cli, 'out'>, former: Usage, usage: Usage, screen: boolean): Promise<void> {
  const { p50Ms, p99Ms, maxMs, utilization, stalls, unattributed } = usage.eventLoop;
  const percent = (share: number) => `${(share * 100).toFixed(1)} %`;
  const lines = rowsOf(former, usage);
  const inCallbacks = lines.reduce((sum, { busy }) => sum + busy, 0) / 1000;
  if (screen) process.stdout.write(CLEAR);
  await out.line(
    `event loop  busy ${percent(utilization)}, callbacks of plugins ${percent(inCallbacks)}; late p50 ${p50Ms} ms, p99 ${p99Ms} ms, max ${maxMs} ms; ${stalls} stalls, ${unattributed} of nobody known`,
  );
  // Two lines above the rows, and the one with the cursor below them.
  const room = screen ? Math.max(1, (process.stdout.rows ?? 24) - 4) : lines.length;
  await out.table(
    HEADERS,
    lines.slice(0, room).map(({ cells }) => cells),
    { state: 2, empty: 'no plugin has been started' },
  );
}

/** The busiest first. */
function rowsOf(former: Usage, { uptimeMs, plugins }: Usage) {
  const perSecond = 1000 / Math.max(1, uptimeMs - former.uptimeMs);
  const rows = plugins.map((now) => {
    const then = former.plugins.find(({ plugin }) => plugin === now.plugin);
    const rate = (of: (usage: PluginUsage) => number) => Math.max(0, of(now) - (then ? of(then) : 0)) * perSecond;
    const busy = rate(({ busyMs }) => busyMs);
    const cpu = (now.cpuMs === undefined ? busy : rate(({ cpuMs = 0 }) => cpuMs)) / 10;
    const cells = [
      ...[now.plugin, now.isolation ?? '', now.state ?? ''],
      ...[cpu.toFixed(1), busy.toFixed(1), `${Math.round(now.longestMs)} ms`],
      now.heapBytes === undefined ? '' : `${(now.heapBytes / 2 ** 20).toFixed(1)} MiB`,
      rate(({ callbacks }) => callbacks.operation.calls).toFixed(0),
      rate(({ callbacks }) => callbacks.event.calls).toFixed(0),
      String(now.errors),
      now.warning ? paint('yellow', `${now.warning.code} ${cell(now.warning.message)}`) : '',
    ];
    return { cpu, busy, cells };
  });
  return rows.sort((a, b) => b.cpu - a.cpu || (a.cells[0]! < b.cells[0]! ? -1 : 1));
}

async function sample({ client, out }: Cli, ms: number): Promise<void> {
  const answer = await client.post('/plugins/sample', { ms }, { timeoutMs: ms + 10_000 });
  if (out.json) return out.line(answer.text);
  const rows = (answer.body.plugins as readonly SampledUsage[]).map(({ plugin, busyMs, longestMs, where }) => [
    ...[plugin, `${((busyMs / ms) * 100).toFixed(1)}`, `${Math.round(longestMs)} ms`, cell(where)],
  ]);
  await out.table(['PLUGIN', 'CPU %', 'LONGEST', 'MOSTLY IN'], rows, { empty: 'nothing ran' });
}

function seconds(text: string): number {
  const value = Number(text);
  if (!(value >= 0.1 && value <= 30)) throw new InvalidArgumentError('it must be a number of seconds from 0.1 to 30');
  return value;
}
