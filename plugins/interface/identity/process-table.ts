import { readFileSync } from 'node:fs';

export interface ProcessEntry {
  readonly parent: number;
  /** Process id of the session's leader, who called setsid(). */
  readonly session: number;
  /** Clock ticks since boot: with the pid it names one process for ever. */
  readonly startTime: string;
}

/** One process of /proc, or undefined when it has gone or cannot be read (proc(5), /proc/<pid>/stat). */
export function readProcess(pid: number): ProcessEntry | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    // Gone, or not visible to us: both mean that nothing is known of it.
    return undefined;
  }
  // The name in the second field may hold blanks and brackets: count from its last bracket.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const startTime = fields[19];
  if (startTime === undefined) return undefined;
  return { parent: Number(fields[1]), session: Number(fields[3]), startTime };
}
