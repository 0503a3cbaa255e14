/** What the processes of a device take, from /proc: CPU, voluntary context switches, memory. The simulator of the bridge is no part of a device. */
import { readdirSync, readFileSync } from 'node:fs';
import { processCpu } from './harness.ts';

export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

export interface Memory {
  /** Bytes. Proportional: a page that n processes share counts a n-th for each. */
  readonly pss: number;
  readonly rss: number;
}

/** What was there a moment ago may be gone: undefined then. */
function attempt<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return undefined;
    throw error;
  }
}

const read = (path: string): string | undefined => attempt(() => readFileSync(path, 'latin1'));
const readFolder = (path: string): readonly string[] | undefined => attempt(() => readdirSync(path));

function allProcesses(): readonly ProcessEntry[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const stat = read(`/proc/${name}/stat`);
      const command = read(`/proc/${name}/cmdline`);
      if (stat === undefined || command === undefined) return [];
      const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
      return [{ pid: Number(name), parent, command: command.replaceAll('\0', ' ').trim() }];
    });
}

/** A process and everything below it. */
export function treeOf(root: number, all: readonly ProcessEntry[] = allProcesses()): readonly ProcessEntry[] {
  const found = all.filter(({ pid }) => pid === root);
  for (const { pid } of found) found.push(...all.filter(({ parent, pid: own }) => parent === pid && own !== root));
  return found;
}

export const isSimulator = ({ command }: ProcessEntry): boolean => /\/port-sim\/\S+\.[jt]s --socket /.test(command);

/** A device's processes but the simulator's. */
export function deviceProcesses(core: number): readonly ProcessEntry[] {
  return treeOf(core).filter((entry) => !isSimulator(entry));
}

/** CPU microseconds of a process so far, with its threads and children that have ended; those that live count to the nanosecond. */
function cpuOf(pid: number): number {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === undefined) return 0;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = (at: number) => (Number(fields[at]) + Number(fields[at + 1])) * 10_000;
  return Math.max(attempt(() => processCpu(pid)) ?? 0, ticks(11)) + ticks(13);
}

export function cpuOfDevice(core: number): number {
  return deviceProcesses(core).reduce((sum, { pid }) => sum + cpuOf(pid), 0);
}

/** Something of each thread, under the thread's number and name. */
function ofThreads(core: number, take: (folder: string) => number | undefined): ReadonlyMap<string, number> {
  const threads = deviceProcesses(core).flatMap(({ pid }) =>
    (readFolder(`/proc/${pid}/task`) ?? []).map((thread) => `/proc/${pid}/task/${thread}`),
  );
  return new Map(
    threads.flatMap((folder) => {
      const found = take(folder);
      const name = read(`${folder}/comm`)?.trim();
      return found === undefined || name === undefined ? [] : [[`${folder.split('/').at(-1)} ${name}`, found]];
    }),
  );
}

/** Voluntary context switches of each thread so far. */
export function switchesOfDevice(core: number): ReadonlyMap<string, number> {
  return ofThreads(core, (folder) => {
    const count = /^voluntary_ctxt_switches:\s+(\d+)$/m.exec(read(`${folder}/status`) ?? '')?.[1];
    return count === undefined ? undefined : Number(count);
  });
}

/** CPU microseconds of each thread so far. */
export function cpuOfThreads(core: number): ReadonlyMap<string, number> {
  return ofThreads(core, (folder) => {
    const nanoseconds = read(`${folder}/schedstat`)?.split(' ')[0];
    return nanoseconds === undefined ? undefined : Number(nanoseconds) / 1_000;
  });
}

export function memoryOfDevice(core: number): Memory {
  let [pss, rss] = [0, 0];
  for (const { pid } of deviceProcesses(core)) {
    const rollup = read(`/proc/${pid}/smaps_rollup`) ?? '';
    const bytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(rollup)?.[1] ?? 0) * 1024;
    pss += bytes('Pss');
    rss += bytes('Rss');
  }
  return { pss, rss };
}
