import { setTimeout as sleep } from 'node:timers/promises';
import type { Isolation, LoopUsage, PluginState, PluginUsage, SampledUsage } from '@device-core/plugin-api';
import { defineProgram, type ProgramContext, type ProgramOutput } from '@device-core/plugin-api/program';

interface TopOptions {
  readonly once?: boolean;
  readonly interval: number;
  readonly sample?: number;
}

type Top = ProgramContext<TopOptions>;

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

const SECONDS = { type: 'number', minimum: 0.1, maximum: 30 } as const;

/** `devicectl top` */
export const program = defineProgram<TopOptions>({
  params: {
    type: 'object',
    properties: {
      once: { type: 'boolean', description: 'one table, over one interval' },
      interval: { ...SECONDS, default: 1, description: 'how often, in seconds' },
      sample: {
        ...SECONDS,
        description: 'look at all running code for so long instead, what runs after an await included',
      },
    },
  },
  run: (context) => (context.args.sample === undefined ? watch(context) : sample(context, context.args.sample * 1000)),
});

async function watch({ client, out, args, signal }: Top): Promise<void> {
  const { once = false, interval } = args;
  let former: Usage | undefined;
  while (!signal.aborted) {
    const answer = await client.get('/plugins/usage');
    const usage = answer.body as unknown as Usage;
    if (out.json) await out.line(answer.text);
    else if (former) {
      await show(out, former, usage, !once && out.terminal);
      if (!once && !out.terminal) await out.line('');
    }
    if (once && (out.json || former)) return;
    former = usage;
    await sleep(interval * 1000, undefined, { signal }).catch(() => undefined); // Ctrl-C ends the wait
  }
}

async function show(out: ProgramOutput, former: Usage, usage: Usage, screen: boolean): Promise<void> {
  const { p50Ms, p99Ms, maxMs, utilization, stalls, unattributed } = usage.eventLoop;
  const percent = (share: number) => `${(share * 100).toFixed(1)} %`;
  const lines = rowsOf(former, usage);
  const inCallbacks = lines.reduce((sum, { busy }) => sum + busy, 0) / 1000;
  if (screen) process.stdout.write(CLEAR);
  await out.line(
    `event loop  busy ${percent(utilization)}, callbacks of plugins ${percent(inCallbacks)}; late p50 ${p50Ms} ms, p99 ${p99Ms} ms, max ${maxMs} ms; ${stalls} stalls, ${unattributed} of unknown origin`,
  );
  // Two lines above the rows, and the one with the cursor below them.
  const room = screen ? Math.max(1, (process.stdout.rows ?? 24) - 4) : lines.length;
  await out.table(
    HEADERS,
    lines.slice(0, room).map(({ cells }) => cells),
    { empty: 'no plugin has been started' },
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
      now.errors,
      now.warning ? `${now.warning.code} ${now.warning.message}` : '',
    ];
    return { cpu, busy, cells };
  });
  return rows.sort((a, b) => b.cpu - a.cpu || (String(a.cells[0]) < String(b.cells[0]) ? -1 : 1));
}

async function sample({ client, out }: Top, ms: number): Promise<void> {
  const answer = await client.post('/plugins/sample', { ms }, { timeoutMs: ms + 10_000 });
  if (out.json) return out.line(answer.text);
  const rows = (answer.body.plugins as readonly SampledUsage[]).map(({ plugin, busyMs, longestMs, where }) => [
    ...[plugin, `${((busyMs / ms) * 100).toFixed(1)}`, `${Math.round(longestMs)} ms`, where],
  ]);
  await out.table(['PLUGIN', 'CPU %', 'LONGEST', 'MOSTLY IN'], rows, { empty: 'nothing ran' });
}
