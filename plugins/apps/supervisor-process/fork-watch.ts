/** Finds guests that start processes and threads without end, each of which is gone before anybody counts it. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { rounds, type Scope } from '@device-core/plugin-api';
import type { Excess } from './guest-watch.ts';

/** Most tasks that a guest starts in a second. */
export const MOST_FORKS = 200;
const EVERY_MS = 1_000;
/** Between two looks at the guests, while the device as a whole starts more than that. */
const LOOK_MS = 20;
const SECOND_MS = 1_000;

/** Numbers of the tasks of a guest in its own pid namespace; undefined when it has ended. */
export type TaskNumbers = () => readonly number[] | undefined;

export interface ForkWatchOptions {
  readonly scope: Scope;
  /** Newest number of a task in the Core's pid namespace, which counts the tasks of guests, too. */
  readonly newest?: () => number | undefined;
}

interface Entry {
  readonly tasks: TaskNumbers;
  readonly over: (perSecond: number) => void;
  count: ForkCount;
}

/**
 * One small file a second, and none without runs. Where the device as a whole starts too many tasks, the guests are
 * looked at: their own pid namespace numbers the tasks one after the other, so that two new ones tell how many came between.
 */
export class ForkWatch {
  readonly #scope: Scope;
  readonly #newest: () => number | undefined;
  readonly #entries = new Set<Entry>();
  readonly #begin: () => void;
  #mark: { readonly at: number; readonly newest: number } | undefined;
  #suspicious = false;

  constructor({ scope, newest = newestTask }: ForkWatchOptions) {
    this.#scope = scope;
    this.#newest = newest;
    this.#begin = rounds({ scope, label: 'new tasks of guests', ms: EVERY_MS, run: () => this.#round() });
  }

  add(tasks: TaskNumbers, over: (perSecond: number) => void): Disposable {
    const entry = { tasks, over, count: new ForkCount() };
    this.#entries.add(entry);
    this.#begin();
    return { [Symbol.dispose]: () => void this.#entries.delete(entry) };
  }

  #round(): boolean {
    if (this.#suspicious) return false;
    if (this.#entries.size === 0) {
      this.#mark = undefined;
      return false;
    }
    if (this.#measured()) this.#look();
    return !this.#suspicious;
  }

  /** While there is suspicion, in place of the rounds. */
  #look(): void {
    this.#suspicious = true;
    const at = this.#scope.clock.monotonic();
    for (const entry of this.#entries) {
      const tasks = entry.tasks();
      const perSecond = tasks && entry.count.look(tasks, at);
      if (perSecond === undefined || perSecond <= MOST_FORKS) continue;
      this.#entries.delete(entry);
      entry.over(perSecond);
    }
    this.#scope.timeout('new tasks of guests, closely', LOOK_MS, () => {
      const due = at - (this.#mark?.at ?? 0) >= EVERY_MS;
      if (this.#entries.size > 0 && (!due || this.#measured())) this.#look();
      else this.#calm();
    });
  }

  #calm(): void {
    this.#suspicious = false;
    for (const entry of this.#entries) entry.count = new ForkCount();
    if (this.#entries.size > 0) this.#begin();
    else this.#mark = undefined;
  }

  /** True where the device started too many tasks since the last time, or may have. */
  #measured(): boolean {
    const newest = this.#newest();
    const at = this.#scope.clock.monotonic();
    const mark = this.#mark;
    this.#mark = newest === undefined ? undefined : { at, newest };
    if (newest === undefined || mark === undefined) return false;
    // The numbers begin anew at their end.
    return newest < mark.newest || ((newest - mark.newest) * SECOND_MS) / (at - mark.at) > MOST_FORKS;
  }
}

export function tooManyForks(perSecond: number): Excess {
  return { of: 'tasks', reason: `it started ${perSecond} processes and threads a second, and ${MOST_FORKS} are allowed` };
}

/** Number of new tasks in one pid namespace. Pure. */
export class ForkCount {
  #known: ReadonlySet<number> | undefined;
  #lookedAt = 0;
  /** A new task, and a time at which it was not there yet. */
  #base: { readonly number: number; readonly at: number } | undefined;

  /**
   * Returns the tasks that were started a second, where two new ones prove it: the first at least a second ago. The time
   * between them is never taken for shorter than it was. Without proof undefined.
   */
  look(tasks: readonly number[], at: number): number | undefined {
    const [known, before, base] = [this.#known, this.#lookedAt, this.#base];
    this.#known = new Set(tasks);
    this.#lookedAt = at;
    const fresh = known ? tasks.filter((number) => !known.has(number)) : [];
    if (fresh.length === 0) return undefined;
    const number = Math.max(...fresh);
    // The numbers begin anew at their end, which is not known.
    if (base === undefined || number < base.number) {
      this.#base = { number, at: before };
      return undefined;
    }
    if (at - base.at < SECOND_MS) return undefined;
    this.#base = { number, at: before };
    return Math.round(((number - base.number) * SECOND_MS) / (at - base.at));
  }
}

/** Tasks that the /proc of a guest shows: seen by any process with its root, which is that of its pid namespace. */
export function tasksInside(member: number | undefined): readonly number[] | undefined {
  const proc = `/proc/${member}/root/proc`;
  const own = statSync('/proc').dev;
  // While its walls are made it still has the root of the device.
  if (member === undefined || own === (statSync(proc, { throwIfNoEntry: false })?.dev ?? own)) return undefined;
  const processes = numbersIn(proc);
  return processes?.flatMap((pid) => numbersIn(`${proc}/${pid}/task`) ?? [pid]);
}

function numbersIn(folder: string): readonly number[] | undefined {
  try {
    return readdirSync(folder).map(Number).filter((number) => number > 0);
  } catch {
    return undefined; // it has ended
  }
}

/** Last field of /proc/loadavg (proc(5)). */
function newestTask(): number | undefined {
  try {
    return Number(readFileSync('/proc/loadavg', 'latin1').trim().split(' ').at(-1)) || undefined;
  } catch {
    return undefined; // the system does not say it
  }
}
