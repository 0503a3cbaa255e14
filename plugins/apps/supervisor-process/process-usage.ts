import { readdirSync, readFileSync } from 'node:fs';
import type { GuestUsage } from '@device-core/plugin-api/inside/services/app-supervisor';

/** Ticks of /proc/<pid>/stat are hundredths of a second on every architecture of Linux that Node runs on. */
const TICK_MS = 10;
const KIB = 1024;
/** Most processes of a guest that are read; more are over any budget. */
const MOST_PROCESSES = 4_096;

/** Sum over processes. Memory is what is resident and was not read from a file: what programs and libraries take is shared with others. */
export function usageOf(pids: Iterable<number>): GuestUsage {
  let [memory, cpuMs, tasks] = [0, 0, 0];
  for (const pid of pids) {
    const stat = read(`/proc/${pid}/stat`);
    if (stat === '') continue;
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // utime, stime and those of children that it has waited for; then the threads (proc(5)).
    for (const field of [11, 12, 13, 14]) cpuMs += TICK_MS * Number(fields[field] ?? 0);
    tasks += Number(fields[17] ?? 0);
    memory += residentOf(pid);
  }
  return { memory, cpuMs, tasks };
}

/** A process and all below it: a few files each, where looking at every process of the machine would take hundreds. Bounded. */
export function treeOf(leader: number): ReadonlySet<number> {
  const found = new Set([leader]);
  for (const pid of found) {
    if (found.size >= MOST_PROCESSES) break;
    for (const child of childrenOf(pid)) found.add(child);
  }
  return found;
}

function childrenOf(pid: number): readonly number[] {
  return threadsOf(pid).flatMap((thread) =>
    read(`/proc/${pid}/task/${thread}/children`)
      .split(' ')
      .map(Number)
      .filter((child) => child > 0),
  );
}

function threadsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return []; // it has gone
  }
}

function residentOf(pid: number): number {
  const status = read(`/proc/${pid}/status`);
  const kib = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0);
  return KIB * (kib('RssAnon') + kib('RssShmem'));
}

/** Empty where there is no such file: a process that has gone takes nothing. */
function read(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}
