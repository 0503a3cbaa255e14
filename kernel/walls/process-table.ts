/** Reader of processes in /proc (proc(5)). */
import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessEntry {
  /** `Z` for one that has ended and waits for its parent. */
  readonly state: string;
  readonly parent: number;
  /** Process id of the session's leader, which called setsid(). */
  readonly session: number;
  /** Clock ticks since boot: with the pid it names one process for ever. */
  readonly startTime: string;
  /** The number is that of a thread beside the first one of its process. Told where `whole` was asked for. */
  readonly thread?: boolean;
  /** It lives in a pid namespace below ours. Told where `whole` was asked for. */
  readonly nested?: boolean;
}

/** `whole` costs a second file of /proc. */
export type ReadProcess = (pid: number, whole?: boolean) => ProcessEntry | undefined;

/** Undefined when it has gone or cannot be read: both mean that nothing is known of it. */
export function readProcess(pid: number, whole = false): ProcessEntry | undefined {
  const text = pid > 0 ? readProc(`${pid}/stat`) : undefined;
  if (text === undefined) return undefined;
  // The name in the second field may hold blanks and brackets: count from its last bracket.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state, startTime] = [fields[0], fields[19]];
  if (state === undefined || startTime === undefined) return undefined;
  const entry = { state, parent: Number(fields[1]), session: Number(fields[3]), startTime };
  return whole ? withStatus(pid, entry) : entry;
}

/** /proc shows a thread by its number as it shows a process. */
function withStatus(pid: number, entry: ProcessEntry): ProcessEntry | undefined {
  const status = readProc(`${pid}/status`);
  if (status === undefined) return undefined;
  const group = /^Tgid:\s*(\d+)$/m.exec(status)?.[1];
  // One number for each pid namespace from ours down to its own.
  const numbers = /^NSpid:\s*(.*)$/m.exec(status)?.[1]?.split(/\s+/) ?? [];
  return { ...entry, thread: group !== String(pid), nested: numbers.length > 1 };
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
