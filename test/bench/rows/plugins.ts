/** Row 51: what each further plugin costs at the start and in memory, and whether the hundredth costs more than the sixtieth. */
import { type Measured, quartiles, type Row, type RunOptions } from '../harness.ts';
import { Workload } from '../workloads/written-plugins.ts';
import { type Sample, sample } from '../workloads/written-sample.ts';

const COUNTS = [40, 80, 160] as const;
const MIB = 1 << 20;

async function grow(options: RunOptions): Promise<Record<string, Measured>> {
  using works = new DisposableStack();
  const sizes = COUNTS.map((count) => ({ count, work: works.use(new Workload(count)), samples: [] as Sample[] }));
  for (const { work } of sizes) await sample(work, options);
  const rounds = options.quick ? 3 : 7;
  for (let round = 0; round < rounds; round++)
    for (const { work, samples } of round % 2 === 0 ? sizes : sizes.toReversed())
      samples.push(await sample(work, options));
  const [few, some, many] = sizes.map(({ samples }) => samples);
  const each = (less: readonly Sample[], more: readonly Sample[], added: number, pick: (one: Sample) => number) =>
    more.map((one, index) => (pick(one) - pick(less[index]!)) / added);
  const all = (pick: (one: Sample) => number, shown: (value: number) => string) =>
    sizes.map(({ count, samples }) => `${count}: ${shown(quartiles(samples.map(pick)).median)}`).join(', ');
  const ms = ({ cpu }: Sample) => cpu / 1_000;
  const mebibytes = ({ memory }: Sample) => memory / MIB;
  const late = quartiles(each(some!, many!, 80, ms));
  const early = quartiles(each(few!, some!, 40, ms));
  return {
    'CPU of each': { ...early, ours: all(ms, (value) => `${value.toFixed(0)} ms`) },
    'memory of each': {
      ...quartiles(each(few!, some!, 40, mebibytes)),
      ours: all(mebibytes, (value) => `${value.toFixed(1)} MiB`),
    },
    'each of 80 to 160, against each of 40 to 80': {
      ...quartiles([late.median / early.median]),
      ours: `${late.median.toFixed(2)} ms`,
      theirs: `${early.median.toFixed(2)} ms`,
    },
  };
}

export const rows: readonly Row[] = [
  {
    id: 51,
    title: 'From 40 to 80 plugins, and on to 160',
    goals: [
      { name: 'CPU of each', goal: 12, unit: 'ms' },
      { name: 'memory of each', goal: 0.5, unit: 'MiB' },
      { name: 'each of 80 to 160, against each of 40 to 80', goal: 1.5, floor: 1 },
    ],
    run: grow,
  },
];
