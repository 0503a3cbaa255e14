import { readdirSync, readFileSync } from 'node:fs';
import type { HeldMemory } from '@device-core/plugin-api/inside/held-memory';
import type { GuestUsage } from '@device-core/plugin-api/inside/services/app-supervisor';

/** Ticks of /proc/<pid>/stat are hundredths of a second on every architecture of Linux that Node runs on. */
const TICK_MS = 10;
const KIB = 1024;
/** Most processes of a guest that are read; more are over any budget. */
const MOST_PROCESSES = 4_096;

/**
 * Sum over processes. Memory is what is resident and was not read from a file, for programs and libraries are shared with
 * others, and what is held beside it. `root`: a process with the guest's separate root, if it has one.
 */
export function usageOf(pids: readonly number[], held: HeldMemory, root?: number): GuestUsage {
  let [memory, cpuMs, tasks] = [0, 0, 0];
  const sharing: number[] = [];
  for (const pid of pids) {
    const stat = read(`/proc/${pid}/stat`);
    if (stat === '') continue;
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // utime, stime and those of children that it has waited for; then the threads (proc(5)).
    for (const field of [11, 12, 13, 14]) cpuMs += TICK_MS * Number(fields[field] ?? 0);
    tasks += Number(fields[17] ?? 0);
    const { own, shared } = residentOf(pid);
    memory += own + shared;
    if (shared > 0) sharing.push(pid);
  }
  memory = Math.max(0, memory + held.beside(root, pids, sharing));
  return { memory, cpuMs, tasks };
}

/** A process and all below it: a few files each, where looking at every process of the machine would take hundreds. Bounded. */
export function treeOf(leader: number): readonly number[] {
  const found = new Set([leader]);
  for (const pid of found) {
    if (found.size >= MOST_PROCESSES) break;
    for (const child of childrenOf(pid)) found.add(child);
  }
  return [...found];
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

function residentOf(pid: number): { readonly own: number; readonly shared: number } {
  const status = read(`/proc/${pid}/status`);
  const kib = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0);
  return { own: KIB * kib('RssAnon'), shared: KIB * kib('RssShmem') };
}

/** Empty where there is no such file: a process that has gone takes nothing. */
function read(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}
