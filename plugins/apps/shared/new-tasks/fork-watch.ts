/** Finds guests that start processes and threads without end, each of which is gone before anybody counts it. */
import { readFileSync } from 'node:fs';
import { rounds, type Scope } from '@device-core/plugin-api';

/** Most tasks that a guest starts in a second. */
export const MOST_FORKS = 200;
const EVERY_MS = 1_000;
/** Between two looks at the guests, while the device as a whole starts more than that. */
const LOOK_MS = 20;
const SECOND_MS = 1_000;

/** Count of one guest, from the time on at which the device as a whole began to start too many tasks. */
export interface TaskCount {
  /** Called every 20 ms, with the monotonic time. Tasks that were started a second, where that is proven now. */
  look(at: number): number | undefined;
}

export interface ForkWatchOptions {
  readonly scope: Scope;
  /** Newest number of a task in the Core's pid namespace, which counts the tasks of guests, too. */
  readonly newest?: () => number | undefined;
}

interface Entry {
  readonly make: () => TaskCount;
  readonly over: (perSecond: number) => void;
  count: TaskCount;
}

/**
 * One small file a second, and none without runs. The guests are looked at while the device as a whole starts too many
 * tasks.
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

  add(make: () => TaskCount, over: (perSecond: number) => void): Disposable {
    const entry = { make, over, count: make() };
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
      const perSecond = entry.count.look(at);
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
    for (const entry of this.#entries) entry.count = entry.make();
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

/** For people. */
export function tooManyForks(perSecond: number): string {
  return `it started ${perSecond} processes and threads a second, and ${MOST_FORKS} are allowed`;
}

/** Last field of /proc/loadavg (proc(5)). */
function newestTask(): number | undefined {
  try {
    return Number(readFileSync('/proc/loadavg', 'latin1').trim().split(' ').at(-1)) || undefined;
  } catch {
    return undefined; // the system does not say it
  }
}
