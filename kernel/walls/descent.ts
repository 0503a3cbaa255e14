import { readdirSync, readFileSync } from 'node:fs';

/** The program inside walls, seen from outside; undefined while it has not begun, and when it has ended. */
export function programOf(spawned: number, above: number): number | undefined {
  let pid: number | undefined = spawned;
  for (let level = 0; level < above && pid !== undefined; level++) pid = childOf(pid);
  return pid;
}

/** The only child, or the oldest. Not every kernel lists the children of a process: then all processes are asked for their parent. */
function childOf(parent: number): number | undefined {
  const listed = readProc(`${parent}/task/${parent}/children`);
  if (listed !== undefined) return Number(listed.split(' ')[0]) || undefined;
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0)
    .find((pid) => parentOf(pid) === parent);
}

function parentOf(pid: number): number | undefined {
  const text = readProc(`${pid}/stat`);
  // The name in the second field may hold blanks and brackets: count from its last bracket.
  return text === undefined ? undefined : Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1]);
}

function readProc(file: string): string | undefined {
  try {
    return readFileSync(`/proc/${file}`, 'latin1');
  } catch {
    return undefined; // it has gone, or the file is none of this kernel
  }
}
