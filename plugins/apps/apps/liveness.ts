/** Is an app that has a session still there? It is asked by `ping` while it runs (decisions D12a). */
import { readFileSync } from 'node:fs';
import { afterOwnTime, type Scope, type Spent, spentText } from '@device-core/plugin-api';

export interface PingLimits {
  /** Milliseconds from an answer, or from the end of the wait for one, to the next ping. */
  readonly everyMs: number;
  readonly limitMs: number;
  /** So many without an answer in a row are a hung app. */
  readonly misses: number;
}

export interface LivenessOptions {
  readonly label: string;
  readonly scope: Scope;
  readonly limits: PingLimits;
  /** The first process of the app: what it waits for a processor is not its fault. */
  readonly pid: number;
  /** True: it answered, whatever. False: it cannot be said now, for there is nobody to ask. Pending: no answer yet. */
  readonly ask: (signal: AbortSignal) => Promise<boolean>;
  /** Once; nothing is asked any more. */
  readonly hung: (reason: string) => void;
}

export class Liveness implements Disposable {
  readonly #options: LivenessOptions;
  #timer: Disposable | undefined;
  #controller: AbortController | undefined;
  #misses = 0;
  #over = false;

  constructor(options: LivenessOptions) {
    this.#options = options;
    this.#next();
  }

  /** Pings in a row that were not answered. */
  get misses(): number {
    return this.#misses;
  }

  [Symbol.dispose](): void {
    this.#over = true;
    this.#timer?.[Symbol.dispose]();
    this.#controller?.abort();
  }

  #next(): void {
    const { scope, label, limits } = this.#options;
    // An app that connects while the Core stops, or whose socket goes then, is asked no more.
    if (!this.#over && !scope.signal.aborted)
      this.#timer = scope.timeout(`ping of ${label}`, limits.everyMs, () => this.#ask());
  }

  #ask(): void {
    const { scope, limits, pid, ask } = this.#options;
    const controller = new AbortController();
    this.#controller = controller;
    const limit = afterOwnTime(scope.clock, limits.limitMs, (spent) => this.#missed(controller, spent), [
      () => scope.clock.taken(),
      processorWait(pid),
    ]);
    this.#timer = limit;
    const settled = (answered: boolean) => {
      limit[Symbol.dispose]();
      if (this.#over || this.#controller !== controller) return;
      this.#controller = undefined;
      if (answered) this.#misses = 0;
      this.#next();
    };
    ask(controller.signal).then(settled, () => settled(false));
  }

  #missed(controller: AbortController, spent: Spent): void {
    if (this.#over || this.#controller !== controller) return;
    const { limits, hung } = this.#options;
    this.#controller = undefined;
    this.#misses += 1;
    controller.abort();
    if (this.#misses < limits.misses) {
      this.#next();
      return;
    }
    this.#over = true;
    hung(`it hangs: ${this.#misses} pings in a row had no answer, the last one in ${spentText(limits.limitMs, spent)}`);
  }
}

/**
 * Milliseconds that a process, or the one among its descendants that waited longest, waited for a processor since the
 * first call (proc(5), schedstat).
 */
export function processorWait(pid: number): () => number {
  const before = new Map<number, number>();
  let begun = false;
  return () => {
    let longest = 0;
    for (const [one, waited] of waits(pid, new Map())) {
      if (!begun) before.set(one, waited);
      longest = Math.max(longest, waited - (before.get(one) ?? 0));
    }
    begun = true;
    return longest;
  };
}

const MOST_PROCESSES = 64;

function waits(pid: number, found: Map<number, number>): Map<number, number> {
  if (found.has(pid) || found.size >= MOST_PROCESSES) return found;
  const [, nanoseconds] = read(`/proc/${pid}/schedstat`).split(' ');
  if (nanoseconds === undefined) return found;
  found.set(pid, Number(nanoseconds) / 1e6);
  for (const child of read(`/proc/${pid}/task/${pid}/children`).split(' '))
    if (child.trim() !== '') waits(Number(child), found);
  return found;
}

/** Empty where there is no such file: a process that has gone waits for nothing. */
function read(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}
