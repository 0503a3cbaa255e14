import { readdirSync, readFileSync } from 'node:fs';
import type { Clock } from '@device-core/plugin-api';

/** Names one process for ever: ids are given again, start times (clock ticks since boot) are not. */
export interface SessionLeader {
  readonly pid: number;
  readonly startTime: string;
}

interface ProcessEntry {
  readonly pid: number;
  readonly state: string;
  readonly parent: number;
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
  return { pid, state, parent: Number(fields[1]), session: Number(fields[3]), startTime };
}

/** The leader of a session that has just been made by setsid(). */
export function leaderOf(pid: number): SessionLeader {
  return { pid, startTime: readProcess(pid)?.startTime ?? '' };
}

/** The process that is so many levels below the one that was spawned; undefined while it is not there, or no more. */
export function programOf(spawned: number, above: number): number | undefined {
  let pid: number | undefined = spawned;
  for (let level = 0; level < above && pid !== undefined; level++) pid = childOf(pid);
  return pid;
}

/** True for a process of this user; false when it has gone. */
export function isOfUser(pid: number, uid: number): boolean {
  return Number(/^Uid:\s+(\d+)/m.exec(readProc(pid, 'status') ?? '')?.[1] ?? -1) === uid;
}

/** Not every kernel lists the children of a process: then all processes are asked for their parent. */
function childOf(parent: number): number | undefined {
  const listed = readProc(parent, `task/${parent}/children`);
  if (listed !== undefined) return Number(listed.split(' ')[0]) || undefined;
  return processIds().find((pid) => readProcess(pid)?.parent === parent);
}

/**
 * Every process that is left of a guest: those of its session, whatever groups they made, those below its first
 * process, and those that made a session of their own but still have its home, which is its data folder and nobody
 * else's. Where the leader has gone long ago its id may have been given again: then the home alone decides.
 */
export function membersOf(leader: SessionLeader, home: string, age: 'recent' | 'old'): number[] {
  const first = readProcess(leader.pid);
  const sessionIsOurs = first ? first.startTime === leader.startTime : age === 'recent';
  const entries = new Map(
    processIds()
      .flatMap((pid) => readProcess(pid) ?? [])
      .map((entry) => [entry.pid, entry]),
  );
  const below = (entry: ProcessEntry | undefined): boolean =>
    entry !== undefined && (entry.pid === leader.pid || below(entries.get(entry.parent)));
  return [...entries.values()]
    .filter(({ pid, state, session }) => {
      if (!(pid > 1) || pid === process.pid || state === 'Z' || state === 'X') return false;
      if (sessionIsOurs && (session === leader.pid || (first && below(entries.get(pid))))) return true;
      return livesIn(pid, home);
    })
    .map(({ pid }) => pid);
}

function processIds(): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0);
}

/** False where the environment cannot be read. */
function livesIn(pid: number, home: string): boolean {
  return readProc(pid, 'environ')?.split('\0').includes(`HOME=${home}`) ?? false;
}

/** Kills what is left of a guest until nothing is. Resolves with the processes that outlived the deadline; normally none. */
export async function killSession(
  clock: Clock,
  leader: SessionLeader,
  deadlineMs: number,
  home: string,
  age: 'recent' | 'old',
): Promise<readonly number[]> {
  const end = clock.monotonic() + deadlineMs;
  // A process that is about to end has no environment any more, and perhaps no leader above it: who was a member once
  // is one until it has gone.
  const known = new Map<number, string>();
  for (;;) {
    for (const pid of membersOf(leader, home, age)) known.set(pid, readProcess(pid)?.startTime ?? '');
    const left = [...known].flatMap(([pid, startTime]) => (runs(pid, startTime) ? [pid] : []));
    for (const pid of left) signal(pid, 'SIGKILL');
    if (left.length === 0 || clock.monotonic() >= end) return left;
    await clock.sleep(POLL_MS);
  }
}

function runs(pid: number, startTime: string): boolean {
  const entry = readProcess(pid);
  return entry !== undefined && entry.startTime === startTime && entry.state !== 'Z' && entry.state !== 'X';
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
