import { systemClock } from '../clock.ts';
import type { KernelLog } from '../kernel-log.ts';
import { controlGroupOf } from '../walls/process-table.ts';
import { ProcessBook } from '../walls/processes.ts';
import { becomeSubreaper, keepBurying } from '../walls/subreaper.ts';

/** The book of every process that this Core starts, from before the first one. */
export async function ownProcesses(log: KernelLog): Promise<ProcessBook> {
  const subreaper = await becomeSubreaper();
  const { failure } = subreaper;
  if (failure === undefined) keepBurying(systemClock, subreaper);
  else log.warn({ reason: failure }, 'a process that leaves its guest cannot be told from the operator');
  // Set by systemd for the first process of a unit: its control group then holds no other processes.
  const alone = process.env.SYSTEMD_EXEC_PID === String(process.pid);
  const group = alone ? controlGroupOf(process.pid) : undefined;
  return new ProcessBook({ root: process.pid, group, orphansLost: failure });
}
