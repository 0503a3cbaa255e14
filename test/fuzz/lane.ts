/** The fuzz lane: runs cases in other processes, ends those that hang, keeps each input that found a fault. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setInterval as every } from 'node:timers/promises';
import { sha256 } from '../../plugins/life/maker/image/list.ts';
import { caseOf } from './cases.ts';
import { LIMITS } from './measured-case.ts';
import type { Plan, Said } from './program.ts';
import type { Target } from './target.ts';

export interface LaneOptions {
  /** Path of the module that exports TARGETS. */
  readonly table: string;
  /** All of the table, if absent. */
  readonly targets?: readonly string[];
  readonly seed: number;
  readonly cases: number;
  readonly ms?: number;
  readonly from?: number;
  /** Folder for the inputs that found a fault: `<keep>/<target>/<hash>`. */
  readonly keep: string;
  readonly print?: (line: string) => void;
}

export interface Finding {
  readonly target: string;
  /** Number of the case; -1 and below are seeds. */
  readonly index: number;
  readonly problem: string;
  /** The kept input. */
  readonly file: string;
}

export interface Ran {
  readonly cases: number;
  readonly accepted: number;
  readonly refused: number;
}

export interface LaneResult {
  readonly findings: readonly Finding[];
  readonly ran: ReadonlyMap<string, Ran>;
  readonly skipped: readonly string[];
}

const PROGRAM = join(import.meta.dirname, 'program.ts');
/** Looks at the CPU time of the process; the case itself is held to less. */
const LOOK_MS = 250;
const HANGS_MS = 4 * LIMITS.cpuMs;
/** A target that ends its process again and again is left. */
const MOST_DEATHS = 3;
/** Linux counts CPU time of processes in hundredths of a second. */
const TICK_MS = 10;

export async function fuzz(options: LaneOptions): Promise<LaneResult> {
  const { TARGETS } = (await import(options.table)) as { readonly TARGETS: readonly Target[] };
  const lane = new Lane(options, TARGETS);
  await lane.run();
  return lane;
}

class Lane implements LaneResult {
  readonly findings: Finding[] = [];
  readonly ran = new Map<string, Ran>();
  readonly skipped: string[] = [];
  readonly #options: LaneOptions;
  readonly #table: ReadonlyMap<string, Target>;
  readonly #print: (line: string) => void;

  constructor(options: LaneOptions, targets: readonly Target[]) {
    this.#options = options;
    this.#table = new Map(targets.map((target) => [target.name, target]));
    this.#print = options.print ?? (() => undefined);
  }

  async run(): Promise<void> {
    let left: readonly string[] = this.#options.targets ?? [...this.#table.keys()];
    let { from = 0 } = this.#options;
    const deaths = new Map<string, number>();
    while (left.length > 0) {
      const death = await this.#process(left, from);
      if (death === undefined) return;
      const { target, index, problem } = death;
      await this.#found(target, index, problem);
      const count = (deaths.get(target) ?? 0) + 1;
      deaths.set(target, count);
      left = left.slice(left.indexOf(target) + (count < MOST_DEATHS && index >= 0 ? 0 : 1));
      from = left[0] === target ? index + 1 : 0;
    }
  }

  /** Where the process died, if it did. */
  async #process(targets: readonly string[], from: number): Promise<Omit<Finding, 'file'> | undefined> {
    const folder = mkdtempSync(join(tmpdir(), 'fz-'));
    const mark = join(folder, 'mark');
    const { table, seed, cases, ms } = this.#options;
    const plan: Plan = { table, targets, seed, cases, from, mark, ...(ms === undefined ? {} : { ms }) };
    const child = spawn(process.execPath, ['--max-old-space-size=512', PROGRAM, JSON.stringify(plan)], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, TMPDIR: folder },
    });
    let last = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      last = `${last}${text}`.slice(-2_000);
    });
    const over = new AbortController();
    const watching = watch(child.pid!, mark, over.signal, () => child.kill('SIGKILL'));
    const ended = once(child, 'close');
    for await (const line of createInterface({ input: child.stdout })) await this.#said(JSON.parse(line) as Said);
    const [code, signal] = (await ended) as [number | null, string | null];
    over.abort();
    const hung = await watching;
    const [target = '', index = 0] = code === 0 ? [] : (JSON.parse(readFileSync(mark, 'utf8')) as [string, number]);
    rmSync(folder, { recursive: true, force: true });
    if (code === 0) return undefined;
    const how = hung ? `it did not end within ${HANGS_MS} ms of CPU` : `the process ended (${signal ?? code}): ${last}`;
    return { target, index, problem: how };
  }

  async #said(said: Said): Promise<void> {
    if ('skipped' in said) {
      this.skipped.push(said.target);
      this.#print(`${said.target}: skipped, ${said.skipped}`);
    } else if ('problem' in said) await this.#found(said.target, said.index, said.problem);
    else {
      const { target, cases, accepted, refused, slowestMs, mostMiB } = said;
      const before = this.ran.get(target) ?? { cases: 0, accepted: 0, refused: 0 };
      const sum = (name: keyof Ran) => before[name] + said[name];
      this.ran.set(target, { cases: sum('cases'), accepted: sum('accepted'), refused: sum('refused') });
      const most = `at most ${slowestMs} ms of CPU and ${mostMiB} MiB`;
      this.#print(`${target}: ${cases} cases, ${accepted} accepted, ${refused} refused, ${most}`);
    }
  }

  async #found(name: string, index: number, problem: string): Promise<void> {
    const target = this.#table.get(name)!;
    const opened = await target.open();
    const bytes = index < 0 ? opened.seeds[-1 - index]! : caseOf(target, opened.seeds, this.#options.seed, index);
    await opened[Symbol.asyncDispose]?.();
    const folder = join(this.#options.keep, name);
    const file = join(folder, sha256(Buffer.from(bytes)).slice(0, 16));
    mkdirSync(folder, { recursive: true });
    writeFileSync(file, bytes);
    this.findings.push({ target: name, index, problem, file });
    this.#print(`${name}: case ${index} of seed ${this.#options.seed} is kept in ${file}\n  ${problem}`);
  }
}

/** Ends the process where one case takes too much CPU; true if it did. */
async function watch(pid: number, mark: string, signal: AbortSignal, end: () => void): Promise<boolean> {
  let [place, since] = ['', 0];
  try {
    for await (const _ of every(LOOK_MS, undefined, { signal })) {
      const [now, cpu] = [read(mark), cpuMs(pid)];
      if (now !== place) [place, since] = [now, cpu];
      if (cpu - since <= HANGS_MS || place === '' || place.includes(',-1]')) continue;
      end();
      return true;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return false;
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // it is not there before the first case, and no longer after the last
  }
}

function cpuMs(pid: number): number {
  const fields = read(`/proc/${pid}/stat`).split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * TICK_MS;
}
