/** Rows 18 to 21: what the border to a plugin in a worker or a process costs, beside the barest echo that Node can make over the same border. */
import {
  alternate,
  collectGarbage,
  type Load,
  type Measured,
  measureCpu,
  microseconds,
  quartiles,
  type Row,
  type RunOptions,
} from '../harness.ts';
import {
  type BareEcho,
  bareProcess,
  bareWorker,
  type IsolationCore,
  isolationCore,
  type Level,
} from '../workloads/isolation-peers.ts';

const VALUE = {
  text: 'a line of text as long as most of what apps and plugins say to each other',
  n: 42,
  at: [1, 2, 3],
};
const BORDERS = ['worker', 'process'] as const;
type Border = (typeof BORDERS)[number];

const sequential =
  (say: () => Promise<unknown>, calls: number): Load =>
  async () => {
    for (let i = 0; i < calls; i++) await say();
  };
const parallel =
  (say: () => Promise<unknown>, calls: number, inFlight: number): Load =>
  async () => {
    let left = calls;
    const lane = async () => {
      while (left-- > 0) await say();
    };
    await Promise.all(Array.from({ length: inFlight }, lane));
  };

/** Runs with the Core and, for each border, its bare echo. */
async function across(
  measure: (border: Border, core: IsolationCore, bare: BareEcho) => Promise<Record<string, Measured>>,
): Promise<Record<string, Measured>> {
  await using core = await isolationCore();
  const measured: Record<string, Measured> = {};
  for (const border of BORDERS) {
    await using bare = await (border === 'worker' ? bareWorker() : bareProcess());
    Object.assign(measured, await measure(border, core, bare));
  }
  return measured;
}

async function services(
  load: (say: () => Promise<unknown>, calls: number) => Load,
  calls: number,
  { quick }: RunOptions,
) {
  return across(async (border, core, bare) => {
    const echo = core.echo(border);
    const ours = { load: load(() => echo.say(VALUE), calls), operations: calls, pids: core.pids };
    const theirs = { load: load(() => bare.say(VALUE), calls), operations: calls, pids: bare.pids };
    const { cpu, wall } = await alternate(ours, theirs, quick ? 7 : 21, 3);
    return { [`${border}, CPU`]: cpu, [`${border}, wall`]: wall };
  });
}

/** An operation at a level less the same operation inline, against the echo: three sides, in turns. */
async function addedByOperations(calls: number, { quick }: RunOptions) {
  return across(async (border, core, bare) => {
    const operate = (level: Level) => sequential(() => core.operate(level, { text: VALUE.text, n: 42 }), calls);
    const sides = {
      border: { load: operate(border), pids: core.pids },
      inline: { load: operate('inline'), pids: core.pids },
      bare: { load: sequential(() => bare.say(VALUE), calls), pids: bare.pids },
    };
    const names = Object.keys(sides) as (keyof typeof sides)[];
    const rounds: Record<'cpu' | 'wall', { readonly added: number; readonly bare: number }[]> = { cpu: [], wall: [] };
    const warmups = 3;
    for (let round = 0; round < (quick ? 7 : 21) + warmups; round++) {
      const costs = { border: { cpu: 0, wall: 0 }, inline: { cpu: 0, wall: 0 }, bare: { cpu: 0, wall: 0 } };
      for (const name of round % 2 === 0 ? names : names.toReversed()) {
        collectGarbage();
        costs[name] = await measureCpu(sides[name].load, sides[name].pids);
      }
      if (round < warmups) continue;
      for (const kind of ['cpu', 'wall'] as const)
        rounds[kind].push({ added: (costs.border[kind] - costs.inline[kind]) / calls, bare: costs.bare[kind] / calls });
    }
    const compare = (values: (typeof rounds)['cpu']): Measured => ({
      ...quartiles(values.map(({ added, bare }) => added / bare)),
      ours: microseconds(quartiles(values.map(({ added }) => added)).median),
      theirs: microseconds(quartiles(values.map(({ bare }) => bare)).median),
    });
    return { [`${border}, CPU`]: compare(rounds.cpu), [`${border}, wall`]: compare(rounds.wall) };
  });
}

const SIZES = { '64 KiB': 64 << 10, '1 MiB': 1 << 20 } as const;

/** The caller keeps its buffer, so that both sides copy it on the way out and on the way back. */
async function buffers({ quick }: RunOptions) {
  return across(async (border, core, bare) => {
    const echo = core.echo(border);
    const measured: Record<string, Measured> = {};
    for (const [name, size] of Object.entries(SIZES)) {
      const calls = size > 1 << 18 ? 50 : 400;
      const buffer = new Uint8Array(size).fill(7);
      const ours = { load: sequential(() => echo.say(buffer), calls), operations: calls, pids: core.pids };
      const theirs = { load: sequential(() => bare.say(buffer), calls), operations: calls, pids: bare.pids };
      const { cpu, wall } = await alternate(ours, theirs, quick ? 5 : 15, 2);
      Object.assign(measured, { [`${border}, ${name}, CPU`]: cpu, [`${border}, ${name}, wall`]: wall });
    }
    return measured;
  });
}

const GOAL = 1.5;
const goals = (names: readonly string[], goal = GOAL) => names.map((name) => ({ name, goal, floor: 1 }));
const BOTH = BORDERS.flatMap((border) => [`${border}, CPU`, `${border}, wall`]);

export const rows: readonly Row[] = [
  {
    id: 18,
    title: 'Service call into a plugin in a worker or process, against a bare echo of MessagePort or child_process',
    goals: goals(BOTH, 1.4),
    run: (options) => services(sequential, 2_000, options),
  },
  {
    id: 19,
    title: 'What a worker or process adds to an operation through the whole gate, against the bare echo',
    goals: goals(BOTH),
    run: (options) => addedByOperations(1_000, options),
  },
  {
    id: 20,
    title: 'The service call, 64 in flight',
    goals: goals(BOTH),
    run: (options) => services((say, calls) => parallel(say, calls, 64), 8_192, options),
  },
  {
    id: 21,
    title: 'A buffer there and back',
    goals: goals(
      BORDERS.flatMap((border) =>
        Object.keys(SIZES).flatMap((size) => [`${border}, ${size}, CPU`, `${border}, ${size}, wall`]),
      ),
    ),
    run: buffers,
  },
];
