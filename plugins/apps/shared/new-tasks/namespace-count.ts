/** New tasks of a guest with a pid namespace. */
import { readdirSync, statSync } from 'node:fs';
import type { TaskCount } from './fork-watch.ts';

const SECOND_MS = 1_000;

/** By the numbers in its pid namespace, which are given one after the other: two new tasks tell how many came between. */
export class NamespaceCount implements TaskCount {
  readonly #tasks: () => readonly number[] | undefined;
  #known: ReadonlySet<number> | undefined;
  #lookedAt = 0;
  /** A new task, and a time at which it was not there yet. */
  #base: { readonly number: number; readonly at: number } | undefined;

  /** `tasks`: numbers inside; undefined when it has ended. */
  constructor(tasks: () => readonly number[] | undefined) {
    this.#tasks = tasks;
  }

  /** Proof are two new tasks, a second apart at least. The time between them is never taken for shorter than it was. */
  look(at: number): number | undefined {
    const tasks = this.#tasks();
    if (tasks === undefined) return undefined;
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
  const root = `/proc/${member}/root`;
  const proc = `${root}/proc`;
  try {
    // While its walls are made it still has the root of the device.
    if (member === undefined || statSync('/proc').dev === statSync(proc).dev) return undefined;
    return numbersIn(proc).flatMap((pid) => threadsOf(`${proc}/${pid}/task`));
  } catch {
    return undefined; // it has ended
  }
}

function threadsOf(folder: string): readonly number[] {
  try {
    return numbersIn(folder);
  } catch {
    return []; // this process of it has ended
  }
}

function numbersIn(folder: string): readonly number[] {
  return readdirSync(folder)
    .map(Number)
    .filter((number) => number > 0);
}
