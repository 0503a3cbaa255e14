/** What the processes of the suite cost, read from /proc: nothing runs inside them for it. */
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { ROOT } from './lanes.ts';

const TICK_MS = 10; // USER_HZ is 100 on every Linux that Node runs on
const LOOK_MS = 100;
const DEAR_MS = 2_000;

/** CPU time in milliseconds of this process and of all its children that have ended, theirs included. */
export function cpuMs(): number {
  return statOf('self')?.ms ?? 0;
}

/** The CPU of each test file while it runs, its children included; what it burns in its last 100 ms is missed. */
export class CpuList implements Disposable {
  readonly #timer: NodeJS.Timeout;
  readonly #byPid = new Map<number, { readonly file: string; ms: number }>();

  constructor() {
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
    this.#timer.unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  /** The dearest first. A suite of more than two seconds says why, in a comment that begins with `Costs`. */
  lines(most: number): readonly string[] {
    const sums = new Map<string, number>();
    for (const { file, ms } of this.#byPid.values()) sums.set(file, (sums.get(file) ?? 0) + ms);
    return [...sums]
      .sort(([, one], [, other]) => other - one)
      .slice(0, most)
      .map(([file, ms]) => `${(ms / 1_000).toFixed(1).padStart(7)} s  ${file}${ms > DEAR_MS ? whyDear(file) : ''}`);
  }

  #look(): void {
    for (const pid of childrenOf(process.pid)) {
      const known = this.#byPid.get(pid);
      const file = known?.file ?? testFileOf(pid);
      if (file === undefined) continue;
      const ms = treeMs(pid);
      this.#byPid.set(pid, { file, ms: Math.max(ms, known?.ms ?? 0) });
    }
  }
}

function whyDear(file: string): string {
  const [, why] = /\bCosts ([^\n]*)/.exec(readFileSync(join(ROOT, file), 'utf8')) ?? [];
  return why === undefined ? ': gives no reason' : `: ${why.replace(/ ?\*\/$/, '')}`;
}

function treeMs(pid: number): number {
  return childrenOf(pid).reduce((sum, child) => sum + treeMs(child), statOf(pid)?.ms ?? 0);
}

function statOf(pid: number | 'self'): { readonly ms: number } | undefined {
  const text = read(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { ms: fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * TICK_MS };
}

function childrenOf(pid: number): readonly number[] {
  return (read(`/proc/${pid}/task/${pid}/children`) ?? '').split(' ').filter(Boolean).map(Number);
}

function testFileOf(pid: number): string | undefined {
  const file = read(`/proc/${pid}/cmdline`)
    ?.split('\0')
    .find((word) => word.endsWith('.test.ts'));
  return file === undefined ? undefined : relative(ROOT, file);
}

/** A process may be gone by the time one looks at it. */
function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes(String((error as NodeJS.ErrnoException).code))) return undefined;
    throw error;
  }
}
