import { readdirSync, readFileSync } from 'node:fs';

/** Bytes of memory that a process and all below it had at most, each at its own time; undefined where none can be seen (proc(5), VmHWM). */
export function memoryPeak(pid: number): number | undefined {
  const peaks = [pid, ...below(pid)].flatMap((one) => peakOf(one) ?? []);
  return peaks.length === 0 ? undefined : peaks.reduce((sum, peak) => sum + peak, 0);
}

function below(pid: number): readonly number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc').filter((one) => /^\d+$/.test(one))) {
    const parent = /^PPid:\s*(\d+)/m.exec(status(Number(name)))?.[1];
    if (parent !== undefined) parents.set(Number(name), Number(parent));
  }
  const under = (one: number | undefined): boolean => one !== undefined && (one === pid || under(parents.get(one)));
  return [...parents.keys()].filter((one) => one !== pid && under(parents.get(one)));
}

function peakOf(pid: number): number | undefined {
  const kilobytes = /^VmHWM:\s*(\d+) kB/m.exec(status(pid))?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}

function status(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return ''; // it has ended
  }
}
