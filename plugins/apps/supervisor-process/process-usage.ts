import { readFileSync } from 'node:fs';
import type { GuestUsage } from '@device-core/plugin-api';
import { membersOf, type SessionLeader } from './process-session.ts';

/** Ticks of /proc/<pid>/stat are hundredths of a second on every architecture of Linux that Node runs on. */
const TICK_MS = 10;
const KIB = 1024;

/** Sum over all processes of a guest. Memory is what is resident and not shared with others, as far as the kernel tells. */
export function usageOf(leader: SessionLeader, home: string): GuestUsage {
  let [memory, cpuMs, tasks] = [0, 0, 0];
  for (const pid of membersOf(leader, home, 'recent')) {
    const stat = read(`/proc/${pid}/stat`);
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // utime, stime and those of children that it has waited for; then the threads (proc(5)).
    cpuMs += TICK_MS * (Number(fields[11] ?? 0) + Number(fields[12] ?? 0));
    tasks += Number(fields[17] ?? 0);
    memory += residentOf(pid);
  }
  return { memory, cpuMs, tasks };
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
