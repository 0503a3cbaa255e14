/** New tasks of a guest with a control group and no pid namespace. */
import { existsSync, readFileSync } from 'node:fs';
import type { TaskCount } from './fork-watch.ts';

const ROOT = '/sys/fs/cgroup';
/** Time in which the group is read without a pause. A short one would fall into step with tasks that come regularly. */
const SLICE_MS = 10;
const MOST_READS = 1_000;
/** Looks for each slice. */
const EVERY = 5;
/** Slices of a sample: a second. */
const SAMPLE = 10;
/** Slices of a sample in which a new task has to be seen: a program that starts once is no sample. */
const SPREAD = 8;
/** A sample has to show so many times what is allowed, so that chance accuses no guest. */
const SURE = 2;
const MOST_TASKS = 4_096;

/** By samples: a task that comes while the group is read over and over was started then. */
export class GroupCount implements TaskCount {
  readonly #tasks: () => readonly number[];
  readonly #now: () => number;
  #looks = 0;
  #slices: { readonly made: number; readonly ms: number }[] = [];

  /** `tasks`: all of the group now. */
  constructor(tasks: () => readonly number[], now: () => number = () => performance.now()) {
    this.#tasks = tasks;
    this.#now = now;
  }

  look(): number | undefined {
    if (++this.#looks % EVERY !== 0) return undefined;
    this.#slices.push(this.#slice());
    if (this.#slices.length < SAMPLE) return undefined;
    const slices = this.#slices;
    this.#slices = [];
    const [made, ms] = [sum(slices.map((one) => one.made)), sum(slices.map((one) => one.ms))];
    if (ms <= 0 || slices.filter((one) => one.made > 0).length < SPREAD) return undefined;
    return Math.round((made * 1_000) / ms / SURE);
  }

  #slice(): { readonly made: number; readonly ms: number } {
    const known = new Set(this.#tasks());
    const [before, began] = [known.size, this.#now()];
    let ms = 0;
    for (let reads = 0; reads < MOST_READS && ms < SLICE_MS; reads++) {
      for (const task of this.#tasks()) known.add(task);
      ms = this.#now() - began;
    }
    return { made: known.size - before, ms };
  }
}

/** File with the tasks of a group by its path, which begins with a slash; undefined where no group counts them. */
export function tasksFile(group: string, root = ROOT): string | undefined {
  return [`${root}${group}/cgroup.threads`, `${root}/pids${group}/tasks`].find((file) => existsSync(file));
}

/** Empty when the guest has ended. */
export function tasksIn(file: string): readonly number[] {
  try {
    return readFileSync(file, 'latin1')
      .split('\n', MOST_TASKS)
      .map(Number)
      .filter((task) => task > 0);
  } catch {
    return [];
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}
