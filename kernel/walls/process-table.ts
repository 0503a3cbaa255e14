/** What /proc says of processes (proc(5)). */
import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessEntry {
  /** `Z` for one that has ended and waits for its parent. */
  readonly state: string;
  readonly parent: number;
  /** Process id of the session's leader, who called setsid(). */
  readonly session: number;
  /** Clock ticks since boot: with the pid it names one process for ever. */
  readonly startTime: string;
}

export type ReadProcess = (pid: number) => ProcessEntry | undefined;

/** Undefined when it has gone or cannot be read: both mean that nothing is known of it. */
export function readProcess(pid: number): ProcessEntry | undefined {
  const text = pid > 0 ? readProc(`${pid}/stat`) : undefined;
  if (text === undefined) return undefined;
  // The name in the second field may hold blanks and brackets: count from its last bracket.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state, startTime] = [fields[0], fields[19]];
  if (state === undefined || startTime === undefined) return undefined;
  return { state, parent: Number(fields[1]), session: Number(fields[3]), startTime };
}

export function processIds(): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0);
}

/** Its children, dead ones included. The kernel lists them by thread, where it was built so. */
export function childrenOf(pid: number): number[] {
  const lists = threadsOf(pid).map((thread) => readProc(`${pid}/task/${thread}/children`));
  if (lists.length === 0 || lists.includes(undefined))
    return processIds().filter((child) => readProcess(child)?.parent === pid);
  return lists.flatMap((list) => (list ?? '').split(' ').map(Number)).filter((child) => child > 0);
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return []; // it is gone
  }
}

/** Path in the unified hierarchy of control groups; undefined where there is none. */
export function controlGroupOf(pid: number): string | undefined {
  return /^0::(\/.*)$/m.exec(readProc(`${pid}/cgroup`) ?? '')?.[1];
}

/** The four user ids of a process: real, effective, saved, of files. */
export function usersOf(pid: number): readonly number[] {
  return (
    /^Uid:\s*(.*)$/m
      .exec(readProc(`${pid}/status`) ?? '')?.[1]
      ?.split(/\s+/)
      .map(Number) ?? []
  );
}

export function readProc(file: string): string | undefined {
  try {
    return readFileSync(`/proc/${file}`, 'latin1');
  } catch {
    // Gone, or not ours to see: the caller knows nothing of it then.
    return undefined;
  }
}
