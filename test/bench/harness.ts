/**
 * What the rows of `npm run bench` share. Times on a shared machine drift by a third, so nothing here is absolute: the two sides of a pair take
 * turns in one run, CPU time (user + system, of every process involved) is compared, and the median of the ratios counts, with its quartiles.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Checkout } from './checkout.ts';
import type { Confinement } from './confine.ts';

setFlagsFromString('--expose-gc');
/** A full collection of this process. */
export const collectGarbage = runInNewContext('gc') as () => void;

export interface Quartiles {
  readonly q1: number;
  readonly median: number;
  readonly q3: number;
}

/** One number of a row: what was measured, and how it was made up, in the unit of the goal. */
export interface Measured extends Quartiles {
  /** Medians of the two sides, for people, for example `0.52 us` and `1.3 us`. */
  readonly ours?: string;
  readonly theirs?: string;
}

export interface Goal {
  /** Unique in the row, for example `qlobber`. */
  readonly name: string;
  /** Met when the median is at most this. */
  readonly goal: number;
  /** The least that could be reached at all, where known. */
  readonly floor?: number;
  /** `x` (a ratio) if absent. */
  readonly unit?: string;
}

/** A goal that cannot be measured now, and why. */
export interface Skipped {
  readonly skipped: string;
}

export const skipped = (reason: string): Skipped => ({ skipped: reason });

export interface RunOptions {
  /** Fewer rounds: a look, not a verdict. */
  readonly quick: boolean;
  /** Another commit to measure beside this checkout. */
  readonly against?: Checkout;
  /** What a Core is put into for `board`. */
  readonly confinement?: Confinement;
}

/** One row of design/performance.md. A file in rows/ exports `rows`. */
export interface Row {
  readonly id: number;
  readonly title: string;
  readonly goals: readonly Goal[];
  /** Resolves with one measurement per goal, by name. A goal whose peer is not on this machine may be left out. */
  run(options: RunOptions): Promise<Readonly<Record<string, Measured | Skipped>>>;
}

/** CPU and wall time in microseconds. */
export interface Cost {
  readonly cpu: number;
  readonly wall: number;
}

export type Load = () => void | Promise<void>;

export function quartiles(values: readonly number[]): Quartiles {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => {
    const position = (sorted.length - 1) * share;
    const low = sorted[Math.floor(position)] ?? Number.NaN;
    const high = sorted[Math.ceil(position)] ?? Number.NaN;
    return low + (high - low) * (position - Math.floor(position));
  };
  return { q1: at(0.25), median: at(0.5), q3: at(0.75) };
}

/** CPU microseconds (user + system) of another process so far, all its threads that still live; /proc/stat's ticks of 10 ms are too coarse. */
export function processCpu(pid: number): number {
  let nanoseconds = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      nanoseconds += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ')[0]);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' && (error as NodeJS.ErrnoException).code !== 'ESRCH')
        throw error; // else: the thread has just ended
    }
  }
  return nanoseconds / 1000;
}

/** The same, with threads that have ended; good to some milliseconds. */
export function wholeCpu(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13);
  return (Number(user) + Number(system)) * 10_000;
}

/** Resident memory of another process in bytes. */
export function processMemory(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'));
  return Number(line?.[1] ?? Number.NaN) * 1024;
}

/** What a load costs: this process and the ones of `pids`. */
export async function measureCpu(load: Load, pids: readonly number[] = []): Promise<Cost> {
  const others = (): number => pids.reduce((sum, pid) => sum + processCpu(pid), 0);
  const before = others();
  const start = performance.now();
  const own = process.cpuUsage();
  await load();
  const { user, system } = process.cpuUsage(own);
  const wall = (performance.now() - start) * 1000;
  return { cpu: user + system + others() - before, wall };
}

/** One side of a pair: the load of one round, how many operations that is, and the other processes that take part. */
export interface Side {
  /** Before each round, not measured. */
  readonly prepare?: Load;
  readonly load: Load;
  readonly operations: number;
  readonly pids?: readonly number[];
}

export interface Pair {
  readonly cpu: Measured;
  readonly wall: Measured;
}

/** Runs ours and theirs in turns (A B, B A, ...) after a warm-up of each, and compares them per operation, round by round. */
export async function alternate(ours: Side, theirs: Side, rounds: number, warmups = 2): Promise<Pair> {
  const once = async (side: Side): Promise<Cost> => {
    await side.prepare?.();
    collectGarbage(); // or one side pays for what the other, or the preparation, left behind
    const cost = await measureCpu(side.load, side.pids);
    return { cpu: cost.cpu / side.operations, wall: cost.wall / side.operations };
  };
  for (let i = 0; i < warmups; i++) {
    await once(ours);
    await once(theirs);
  }
  const costs: { a: Cost; b: Cost }[] = [];
  for (let i = 0; i < rounds; i++) {
    const first = await once(i % 2 === 0 ? ours : theirs);
    const second = await once(i % 2 === 0 ? theirs : ours);
    costs.push(i % 2 === 0 ? { a: first, b: second } : { a: second, b: first });
  }
  const compare = (kind: keyof Cost): Measured => ({
    ...quartiles(costs.map(({ a, b }) => a[kind] / b[kind])),
    ours: microseconds(quartiles(costs.map(({ a }) => a[kind])).median),
    theirs: microseconds(quartiles(costs.map(({ b }) => b[kind])).median),
  });
  return { cpu: compare('cpu'), wall: compare('wall') };
}

export function microseconds(value: number): string {
  if (value >= 1000) return `${(value / 1000).toPrecision(3)} ms`;
  return value >= 1 ? `${value.toPrecision(3)} us` : `${(value * 1000).toPrecision(3)} ns`;
}

/** Of microseconds. */
export const seconds = (value: number): string => `${(value / 1e6).toPrecision(3)} s`;

/** A peer's package from test/bench/node_modules. Its types are the row's own few lines, so that the tree type-checks without the peers. */
export async function peer<T>(name: string): Promise<T> {
  return (await import(name)) as T;
}
