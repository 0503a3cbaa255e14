/** The Core takes in what its guests leave behind: an orphan keeps descending from the Core, and is buried when it ends. */
import { type Clock, reasonOf } from '@device-core/plugin-api';
import { childrenOf, readProcess } from './process-table.ts';

const PR_SET_CHILD_SUBREAPER = 36;
const WNOHANG = 1;
/** Node buries its own children within one turn of their thread's loop: what is dead for two looks is an orphan. */
const LOOK_MS = 10_000;

interface Native {
  readonly prctl: (option: number, ...args: readonly number[]) => number;
  readonly waitpid: (pid: number, status: null, options: number) => number;
}

export interface Subreaper {
  /** Why orphans of guests are not ours; then one that left its session cannot be told from the operator. */
  readonly failure?: string;
  /** Looks for dead orphans and buries those that the last look found, too. Resolves with their ids. */
  readonly bury: () => readonly number[];
}

/** Call it before the first guest starts. koffi is a native package that may be absent on a platform: imported only here. */
export async function becomeSubreaper(load: () => Promise<Native> = loadNative): Promise<Subreaper> {
  let native: Native;
  try {
    native = await load();
    if (native.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) !== 0) throw new Error('prctl refuses');
  } catch (thrown) {
    return { failure: reasonOf(thrown), bury: () => [] };
  }
  let seen = new Set<string>();
  const bury = () => {
    const dead = new Set<string>();
    const buried: number[] = [];
    for (const pid of childrenOf(process.pid)) {
      const entry = readProcess(pid);
      if (entry?.parent !== process.pid || entry.state !== 'Z') continue;
      const name = `${pid} ${entry.startTime}`;
      // Never all children at once: that would take the exit status of Node's own from it.
      if (seen.has(name) && native.waitpid(pid, null, WNOHANG) === pid) buried.push(pid);
      else dead.add(name);
    }
    seen = dead;
    return buried;
  };
  return { bury };
}

/** Buries orphans for as long as the process runs. */
export function keepBurying(clock: Clock, { bury }: Subreaper): void {
  clock.after(LOOK_MS, () => {
    bury();
    keepBurying(clock, { bury });
  });
}

async function loadNative(): Promise<Native> {
  if (process.platform !== 'linux') throw new Error(`prctl is not there on ${process.platform}`);
  const { default: koffi } = await import('koffi');
  const library = koffi.load(null);
  return {
    prctl: library.func('int prctl(int option, ulong a, ulong b, ulong c, ulong d)') as unknown as Native['prctl'],
    waitpid: library.func('int waitpid(int pid, void *status, int options)') as unknown as Native['waitpid'],
  };
}
