/** Row 51: what each further plugin costs at the start and in memory, and whether the eightieth costs more than the thirtieth. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { HERE } from '../checkout.ts';
import { Device } from '../device.ts';
import { type Measured, quartiles, type Row, type RunOptions } from '../harness.ts';
import { memoryOfDevice } from '../process-tree.ts';
import { Workload } from '../workloads/written-plugins.ts';

const COUNTS = [20, 40, 80] as const;
/** Until the compile cache is written and what the start left behind is collected. */
const SETTLE_MS = 8_000;
const MIB = 1 << 20;

interface Sample {
  /** Microseconds. */
  readonly cpu: number;
  /** Bytes. */
  readonly memory: number;
}

async function sample(work: Workload, { confinement }: RunOptions, settleMs: number): Promise<Sample> {
  const root = join(work.folder, 'root');
  const main = [join(HERE, 'kernel/main.ts'), '--sku', work.sku, '--root', root, '--no-tcp'];
  const [program, ...args] = [...(confinement?.command ?? []), process.execPath, ...main];
  await using device = await Device.start(program!, args, join(root, 'run/core.sock'));
  await sleep(settleMs);
  return { cpu: device.start.ready.cpu, memory: memoryOfDevice(device.pid).pss };
}

async function grow(options: RunOptions): Promise<Record<string, Measured>> {
  using works = new DisposableStack();
  const sizes = COUNTS.map((count) => ({ count, work: works.use(new Workload(count)), samples: [] as Sample[] }));
  for (const { work } of sizes) await sample(work, options, SETTLE_MS);
  const rounds = options.quick ? 3 : 7;
  for (let round = 0; round < rounds; round++)
    for (const { work, samples } of round % 2 === 0 ? sizes : sizes.toReversed())
      samples.push(await sample(work, options, SETTLE_MS));
  const [few, some, many] = sizes.map(({ samples }) => samples);
  const each = (less: readonly Sample[], more: readonly Sample[], added: number, pick: (one: Sample) => number) =>
    more.map((one, index) => (pick(one) - pick(less[index]!)) / added);
  const told = (samples: readonly Sample[], pick: (one: Sample) => string) =>
    pick({
      cpu: quartiles(samples.map(({ cpu }) => cpu)).median,
      memory: quartiles(samples.map(({ memory }) => memory)).median,
    });
  const all = (pick: (one: Sample) => string) =>
    sizes.map(({ count, samples }) => `${count}: ${told(samples, pick)}`).join(', ');
  const ms = ({ cpu }: Sample) => cpu / 1_000;
  const mebibytes = ({ memory }: Sample) => memory / MIB;
  const late = quartiles(each(some!, many!, 40, ms));
  const early = quartiles(each(few!, some!, 20, ms));
  return {
    'CPU of each': { ...late, ours: all((one) => `${ms(one).toFixed(0)} ms`) },
    'memory of each': {
      ...quartiles(each(some!, many!, 40, mebibytes)),
      ours: all((one) => `${mebibytes(one).toFixed(1)} MiB`),
    },
    'each of 40 to 80, against each of 20 to 40': {
      ...quartiles([late.median / early.median]),
      ours: `${late.median.toFixed(2)} ms`,
      theirs: `${early.median.toFixed(2)} ms`,
    },
  };
}

export const rows: readonly Row[] = [
  {
    id: 51,
    title: 'From 40 to 80 plugins',
    goals: [
      { name: 'CPU of each', goal: 12, unit: 'ms' },
      { name: 'memory of each', goal: 0.5, unit: 'MiB' },
      { name: 'each of 40 to 80, against each of 20 to 40', goal: 1.5, floor: 1 },
    ],
    run: grow,
  },
];
