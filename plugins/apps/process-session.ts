import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** Names one process for ever: ids are given again, start times (clock ticks since boot) are not. */
export interface SessionLeader {
  readonly pid: number;
  readonly startTime: string;
}

interface ProcessEntry {
  readonly pid: number;
  readonly state: string;
  readonly session: number;
  readonly startTime: string;
}

const POLL_MS = 20;

/** One process of /proc, or undefined when it has gone (proc(5), /proc/<pid>/stat). */
export function readProcess(pid: number): ProcessEntry | undefined {
  const text = readProc(pid, 'stat');
  if (text === undefined) return undefined;
  // The name in the second field may hold blanks and brackets: count from its last bracket.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state, startTime] = [fields[0], fields[19]];
  if (state === undefined || startTime === undefined) return undefined;
  return { pid, state, session: Number(fields[3]), startTime };
}

/** The leader of a session that has just been made by setsid(). */
export function leaderOf(pid: number): SessionLeader {
  return { pid, startTime: readProcess(pid)?.startTime ?? '' };
}

/**
 * Every process that is left in the session, whatever groups it made. Where the leader has gone, an id given again could name somebody else's
 * session: `belongs` is asked then.
 */
export function membersOf(leader: SessionLeader, belongs: (pid: number) => boolean = () => true): number[] {
  const first = readProcess(leader.pid);
  if (first && first.startTime !== leader.startTime) return [];
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => {
      if (!(pid > 1)) return false;
      const entry = readProcess(pid);
      if (entry?.session !== leader.pid || entry.state === 'Z' || entry.state === 'X') return false;
      return first !== undefined || belongs(pid);
    });
}

/** Was the process started with this variable? False where that cannot be read. */
export function hasVariable(pid: number, name: string, value: string): boolean {
  return readProc(pid, 'environ')?.split('\0').includes(`${name}=${value}`) ?? false;
}

/** Kills what is left of a session until nothing is. Resolves with the processes that outlived the deadline; normally none. */
export async function killSession(
  leader: SessionLeader,
  deadlineMs: number,
  belongs?: (pid: number) => boolean,
): Promise<readonly number[]> {
  const end = Date.now() + deadlineMs;
  for (;;) {
    const left = membersOf(leader, belongs);
    for (const pid of left) signal(pid, 'SIGKILL');
    if (left.length === 0 || Date.now() >= end) return left;
    await delay(POLL_MS);
  }
}

/** False when there is nobody to take the signal, or it may not be sent. Negative ids are process groups. */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ESRCH' || code === 'EPERM') return false;
    throw thrown;
  }
}

function readProc(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    // Gone, or not ours to see: both mean that nothing is known of it.
    return undefined;
  }
}
