/** Row 119: what secrets, redaction, outbox, metrics, telemetry, traces, flags and log-journald take together in a Core that has nothing to do. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { thisCheckout } from '../checkout.ts';
import { Installation } from '../device.ts';
import { type Measured, processMemory, quartiles, type Row, type RunOptions } from '../harness.ts';

const MIB = 1 << 20;
/** The ledger was there before them, and everything else is the same Core. */
const PARTS = ['secrets-file', 'redaction', 'outbox', 'metrics', 'telemetry', 'traces', 'flags'] as const;
const JOURNAL = 'log-journald';
const WITHOUT = {
  nothing: [],
  journal: [JOURNAL],
  all: [...PARTS, JOURNAL],
} as const satisfies Readonly<Record<string, readonly string[]>>;
type Kind = keyof typeof WITHOUT;

/** Loaded before the Core: on a signal it collects and writes what is in use. */
const looking = (file: string) =>
  `data:text/javascript,${encodeURIComponent(
    `import { writeFileSync } from 'node:fs';
     process.on('SIGUSR2', () => {
       for (let turn = 0; turn < 3; turn++) gc();
       const { heapUsed, external } = process.memoryUsage();
       writeFileSync(${JSON.stringify(file)}, JSON.stringify({ heap: heapUsed + external }));
     });`,
  )}`;

interface Taken {
  /** Bytes. */
  readonly heap: number;
  readonly rss: number;
}

async function taken(installation: Installation, settleMs: number): Promise<Taken> {
  const file = join(installation.root, 'heap.json');
  rmSync(file, { force: true });
  await using device = await installation.start({ node: ['--expose-gc', '--import', looking(file)] });
  await sleep(settleMs);
  process.kill(device.pid, 'SIGUSR2');
  while (!existsSync(file)) await sleep(50);
  await sleep(200);
  const { heap } = JSON.parse(readFileSync(file, 'utf8')) as { readonly heap: number };
  return { heap, rss: processMemory(device.pid) };
}

async function run({ quick }: RunOptions): Promise<Record<string, Measured>> {
  using works = new DisposableStack();
  const kinds = Object.keys(WITHOUT) as Kind[];
  const all = new Map<Kind, Installation>();
  for (const kind of kinds) {
    const installation = new Installation(thisCheckout(), 'telling', { without: WITHOUT[kind] });
    all.set(kind, works.use(installation));
    await installation.warm();
  }
  const samples: Record<Kind, Taken>[] = [];
  for (let round = 0; round < (quick ? 5 : 11); round++) {
    const sample = {} as Record<Kind, Taken>;
    for (const kind of round % 2 === 0 ? kinds : kinds.toReversed())
      sample[kind] = await taken(all.get(kind)!, quick ? 3_000 : 8_000);
    samples.push(sample);
  }
  const difference = (more: Kind, less: Kind, what: keyof Taken): Measured => ({
    ...quartiles(samples.map((one) => (one[more][what] - one[less][what]) / MIB)),
    ours: `${(quartiles(samples.map((one) => one[more][what])).median / MIB).toFixed(1)} MiB`,
    theirs: `${(quartiles(samples.map((one) => one[less][what])).median / MIB).toFixed(1)} MiB without`,
  });
  return {
    'in use (heap)': difference('journal', 'all', 'heap'),
    resident: difference('journal', 'all', 'rss'),
    'log-journald, in use': difference('nothing', 'journal', 'heap'),
    'log-journald, resident': difference('nothing', 'journal', 'rss'),
  };
}

export const rows: readonly Row[] = [
  {
    id: 119,
    title:
      'Memory at rest of secrets, redaction, outbox, metrics, telemetry, traces and flags together, after a collection',
    goals: [
      { name: 'in use (heap)', goal: 2, unit: 'MiB' },
      { name: 'resident', goal: 2, unit: 'MiB' },
      { name: 'log-journald, in use', goal: 0.5, unit: 'MiB' },
      { name: 'log-journald, resident', goal: 2, unit: 'MiB' },
    ],
    run,
  },
];
