/** Row 53: what the parts of a device cost, each by the difference between a device with it and one without. The goals are bounds, not aims. */
import { setTimeout as sleep } from 'node:timers/promises';
import { thisCheckout } from '../checkout.ts';
import { Installation, SETTLE_MS } from '../device.ts';
import { type Goal, type Measured, quartiles, type Row, type RunOptions } from '../harness.ts';
import { cpuOfDevice, memoryOfDevice } from '../process-tree.ts';
import { Workload, type WorkloadOptions } from '../workloads/written-plugins.ts';
import { type Sample, sample } from '../workloads/written-sample.ts';

const PLUGINS = 10;
const TIMERS = 20;
const WATCH_MS = 20_000;
const MIB = 1 << 20;

/** The base is ten plugins, all of them inline. */
const PARTS = {
  base: {},
  worker: { last: 'worker' },
  shared: { shared: true },
  process: { last: 'process' },
  timers: { timers: TIMERS },
  'no http': { without: ['http'] },
} as const satisfies Readonly<Record<string, WorkloadOptions>>;
type Part = keyof typeof PARTS;

/** Engines of the frozen SKU, which come with it and listen or speak. */
const ENGINES = ['soundswallower', 'tts-flite'] as const;

interface Settled {
  /** Microseconds since exec. */
  readonly cpu: number;
  /** Bytes (PSS). */
  readonly memory: number;
}

interface Written {
  readonly samples: ReadonlyMap<Part, readonly Sample[]>;
  /** The first start of the base, which finds no compile cache. */
  readonly first: Sample;
}

async function written(options: RunOptions): Promise<Written> {
  using works = new DisposableStack();
  const parts = (Object.keys(PARTS) as Part[]).map((part) => ({
    part,
    samples: [] as Sample[],
    work: works.use(new Workload(PLUGINS, PARTS[part])),
  }));
  const firsts: Sample[] = [];
  for (const { work } of parts) firsts.push(await sample(work, options));
  for (let round = 0; round < (options.quick ? 1 : 3); round++)
    for (const { part, work, samples } of round % 2 === 0 ? parts : parts.toReversed())
      samples.push(await sample(work, options, part === 'base' || part === 'timers' ? WATCH_MS : 0));
  return { samples: new Map(parts.map(({ part, samples }) => [part, samples])), first: firsts[0]! };
}

async function settledWithout(without: readonly string[], { confinement }: RunOptions): Promise<Settled> {
  using installation = new Installation(thisCheckout(), 'board', { confinement, without });
  await installation.warm();
  await using device = await installation.start();
  await sleep(SETTLE_MS);
  return { cpu: cpuOfDevice(device.pid), memory: memoryOfDevice(device.pid).pss };
}

async function engines(options: RunOptions): Promise<Record<string, Measured>> {
  const measured: Record<string, Measured> = {};
  const whole = await settledWithout([], options);
  for (const engine of ENGINES) {
    const less = await settledWithout([engine], options);
    measured[`${engine}, CPU`] = quartiles([(whole.cpu - less.cpu) / 1_000]);
    measured[`${engine}, memory`] = quartiles([(whole.memory - less.memory) / MIB]);
  }
  return measured;
}

async function costs(options: RunOptions): Promise<Record<string, Measured>> {
  const { samples, first } = await written(options);
  const differences = (more: Part, less: Part, pick: (one: Sample) => number): Measured =>
    quartiles(samples.get(more)!.map((one, index) => pick(one) - pick(samples.get(less)![index]!)));
  const ms = ({ cpu }: Sample) => cpu / 1_000;
  const mebibytes = ({ memory }: Sample) => memory / MIB;
  return {
    'worker, CPU': differences('worker', 'base', ms),
    'worker, memory': differences('worker', 'base', mebibytes),
    'second in a worker, CPU': differences('shared', 'worker', ms),
    'second in a worker, memory': differences('shared', 'worker', mebibytes),
    'process, CPU': differences('process', 'base', ms),
    'process, memory': differences('process', 'base', mebibytes),
    'http, CPU': differences('base', 'no http', ms),
    'http, memory': differences('base', 'no http', mebibytes),
    'timer of 1 s, CPU': differences('timers', 'base', ({ idle }) => idle / TIMERS),
    'timer of 1 s, wakeups': differences('timers', 'base', ({ switches }) => switches / TIMERS),
    'first start, against a warm one': quartiles(samples.get('base')!.map((one) => first.cpu / one.cpu)),
    ...(await engines(options)),
  };
}

const both = (name: string, ms: number, memory: number): readonly Goal[] => [
  { name: `${name}, CPU`, goal: ms, unit: 'ms' },
  { name: `${name}, memory`, goal: memory, unit: 'MiB' },
];

export const rows: readonly Row[] = [
  {
    id: 53,
    title:
      'What a part costs: a plugin in a worker or process instead of inline, http, a timer, an engine that is there',
    goals: [
      ...both('worker', 220, 24),
      ...both('second in a worker', 40, 6),
      ...both('process', 500, 60),
      ...both('http', 150, 15),
      { name: 'timer of 1 s, CPU', goal: 200, unit: 'us/s' },
      { name: 'timer of 1 s, wakeups', goal: 1.2, unit: '/s' },
      { name: 'first start, against a warm one', goal: 6 },
      ...both('soundswallower', 400, 90),
      ...both('tts-flite', 600, 99),
    ],
    run: costs,
  },
];
