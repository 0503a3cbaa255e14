/**
 * Rows 46 to 50 and 52: start, idle and memory of two frozen SKUs, for the small board. The Core is a process of its own, with whatever it starts; only the
 * simulator of the bridge does not count, as a board has a real one. `--against COMMIT` measures another commit beside it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Checkout, thisCheckout } from '../checkout.ts';
import { Installation, type Moment, SETTLE_MS, type Start } from '../device.ts';
import { type Measured, quartiles, type Row, type RunOptions, type Skipped, seconds, skipped } from '../harness.ts';
import { cpuOfDevice, type Memory, memoryOfDevice, switchesOfDevice } from '../process-tree.ts';

const SKUS = ['headless-io', 'board'] as const;
type Sku = (typeof SKUS)[number];
const MIB = 1 << 20;
const NO_COMMIT = 'needs --against COMMIT, for example --against b22a9a8';

interface Idle {
  /** Percent of one core. */
  readonly cpu: number;
  readonly switches: number;
  /** Those that switch most, with their number a second. */
  readonly busiest: string;
  readonly memory: Memory;
  /** CPU microseconds since exec when it had settled. */
  readonly settled: number;
}

/** Starts of each SKU and side are made once for all rows of a run. */
const kept = new Map<string, Promise<unknown>>();
function once<T>(key: string, make: () => Promise<T>): Promise<T> {
  const made = kept.get(key) ?? make();
  kept.set(key, made);
  return made as Promise<T>;
}

async function startOf(installation: Installation, asked: boolean): Promise<Start> {
  await using device = await installation.start({ asked });
  return device.start;
}

/** Starts of this checkout, and of the other one in turns where there is one. */
async function measureStarts(sku: Sku, asked: boolean, { quick, against, confinement }: RunOptions) {
  using ours = new Installation(thisCheckout(), sku, { confinement });
  using theirs = against && new Installation(against, sku, { confinement });
  const sides = theirs ? [ours, theirs] : [ours];
  for (const side of sides) await side.warm();
  const starts = new Map(sides.map((side) => [side, [] as Start[]]));
  for (let round = 0; round < (quick ? 3 : 7); round++)
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) starts.get(side)!.push(await startOf(side, asked));
  return { ours: starts.get(ours)!, theirs: theirs && starts.get(theirs)!, missing: theirs?.missing ?? [] };
}

const starts = (sku: Sku, asked: boolean, options: RunOptions) =>
  once(`starts ${sku} ${asked}`, () => measureStarts(sku, asked, options));

async function startAgainst(options: RunOptions): Promise<Record<string, Measured | Skipped>> {
  const { against } = options;
  if (!against) return Object.fromEntries(SKUS.map((sku) => [sku, skipped(NO_COMMIT)]));
  const measured: Record<string, Measured> = {};
  for (const sku of SKUS) {
    const { ours, theirs, missing } = await starts(sku, false, options);
    const cpu = (side: readonly Start[]) => side.map(({ ready }) => ready.cpu);
    const without = missing.length === 0 ? '' : ` without ${missing.join(', ')}`;
    measured[sku] = {
      ...quartiles(cpu(ours).map((value, index) => value / cpu(theirs!)[index]!)),
      ours: seconds(quartiles(cpu(ours)).median),
      theirs: `${seconds(quartiles(cpu(theirs!)).median)} at ${against.commit}${without}`,
    };
  }
  return measured;
}

async function firstHealth(options: RunOptions): Promise<Record<string, Measured>> {
  const measured: Record<string, Measured> = {};
  for (const sku of SKUS) {
    const { ours, theirs } = await starts(sku, true, options);
    for (const kind of ['cpu', 'wall'] as const) {
      const at = (side: readonly Start[], pick: (start: Start) => Moment) =>
        seconds(quartiles(side.map((start) => pick(start)[kind])).median);
      const shares = (side: readonly Start[]) => quartiles(side.map(({ health, ready }) => health[kind] / ready[kind]));
      const told = (side: readonly Start[]) =>
        `${at(side, ({ health }) => health)} of ${at(side, ({ ready }) => ready)}`;
      measured[`${sku}, ${kind === 'cpu' ? 'CPU' : 'time'}`] = {
        ...shares(ours),
        ours: told(ours),
        ...(theirs && { theirs: `${told(theirs)}, ${shares(theirs).median.toFixed(2)}` }),
      };
    }
  }
  return measured;
}

/** Resolves when it listens to the room, where it has a voice. */
async function listening(get: (path: string) => Promise<Record<string, unknown>>): Promise<void> {
  const { state, reason } = await get('/voice');
  if (state !== 'idle' || reason !== undefined) throw new Error(`the device does not listen: ${state} ${reason ?? ''}`);
}

async function measureIdle(checkout: Checkout, sku: Sku, { quick, confinement }: RunOptions): Promise<Idle> {
  using installation = new Installation(checkout, sku, { confinement });
  await installation.warm();
  await using device = await installation.start();
  await sleep(SETTLE_MS);
  const settled = cpuOfDevice(device.pid);
  if (sku === 'board') await listening((path) => device.get(path));
  await sleep(1_000);
  const [from, cpu, switches] = [performance.now(), cpuOfDevice(device.pid), switchesOfDevice(device.pid)];
  await sleep(quick ? 10_000 : 60_000);
  const used = cpuOfDevice(device.pid) - cpu;
  const after = switchesOfDevice(device.pid);
  const ms = performance.now() - from;
  const rates = [...after].map(([name, count]) => ({ name, rate: ((count - (switches.get(name) ?? 0)) * 1_000) / ms }));
  const most = rates.toSorted((a, b) => b.rate - a.rate).slice(0, 3);
  return {
    cpu: used / 10 / ms,
    switches: rates.reduce((sum, { rate }) => sum + rate, 0),
    busiest: most.map(({ name, rate }) => `${name.replace(/^\d+ /, '')} ${rate.toFixed(1)}`).join(', '),
    memory: memoryOfDevice(device.pid),
    settled,
  };
}

const idleOf = (side: string, checkout: Checkout, sku: Sku, options: RunOptions): Promise<Idle> =>
  once(`idle ${sku} ${side}`, () => measureIdle(checkout, sku, options));

/** One figure of the idle device, and the same of the other commit for people. */
async function idle(
  options: RunOptions,
  pick: (idle: Idle) => number,
  told: (idle: Idle) => string = ({ busiest }) => busiest,
): Promise<Record<string, Measured>> {
  const measured: Record<string, Measured> = {};
  for (const sku of SKUS) {
    const { against } = options;
    const here = await idleOf('here', thisCheckout(), sku, options);
    const there = against && (await idleOf('there', against, sku, options));
    measured[sku] = {
      ...quartiles([pick(here)]),
      ours: told(here),
      ...(there && { theirs: `${pick(there).toFixed(2)} at ${against.commit}, ${told(there)}` }),
    };
  }
  return measured;
}

/** What the start leaves for later counts here: an engine that is loaded after the device says that it is ready. */
async function settledAgainst(options: RunOptions): Promise<Record<string, Measured | Skipped>> {
  const { against } = options;
  if (!against) return Object.fromEntries(SKUS.map((sku) => [sku, skipped(NO_COMMIT)]));
  const measured: Record<string, Measured> = {};
  for (const sku of SKUS) {
    const here = await idleOf('here', thisCheckout(), sku, options);
    const there = await idleOf('there', against, sku, options);
    measured[sku] = {
      ...quartiles([here.settled / there.settled]),
      ours: seconds(here.settled),
      theirs: `${seconds(there.settled)} at ${against.commit}`,
    };
  }
  return measured;
}

const mebibytes = (bytes: number) => `${(bytes / MIB).toFixed(0)} MiB`;
const goals = (goal: readonly [headless: number, board: number], unit?: string) =>
  SKUS.map((name, index) => ({ name, goal: goal[index]!, ...(unit === undefined ? {} : { unit }) }));

export const rows: readonly Row[] = [
  {
    id: 46,
    title: 'Start: CPU from exec to ready while nobody asks, against the same SKU at another commit',
    goals: goals([0.5, 0.35]),
    run: startAgainst,
  },
  {
    id: 47,
    title: 'Start: the first answer to GET /health of somebody who asks all the time, as a share of the whole start',
    goals: SKUS.flatMap((sku) => ['CPU', 'time'].map((kind) => ({ name: `${sku}, ${kind}`, goal: 0.33 }))),
    run: firstHealth,
  },
  {
    id: 48,
    title: 'Idle: percent of one core, quiet room, voice listening where there is one; without the simulator',
    goals: goals([0.3, 2.5], '%'),
    run: (options) => idle(options, ({ cpu }) => cpu),
  },
  {
    id: 49,
    title: 'Idle: voluntary context switches a second of all threads and processes; without the simulator',
    goals: goals([10, 40], '/s'),
    run: (options) => idle(options, ({ switches }) => switches),
  },
  {
    id: 50,
    title: 'Idle: memory of all processes of the Core (PSS); without the simulator',
    goals: goals([70, 140], 'MiB'),
    run: (options) =>
      idle(
        options,
        ({ memory }) => memory.pss / MIB,
        ({ memory }) => `RSS ${mebibytes(memory.rss)}`,
      ),
  },
  {
    id: 52,
    title: `Start: CPU of the first ${SETTLE_MS / 1_000} s, with one answer and all that comes after ready, against another commit`,
    goals: goals([0.5, 0.35]),
    run: settledAgainst,
  },
];
