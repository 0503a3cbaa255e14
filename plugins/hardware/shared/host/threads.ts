/** Threads that stay for files and names, while host buses wait for their wires. */
const OTHERS = 4;

/** Turns of host buses in the thread pool of the process. A bus has one call at a time, so that the line is short. */
export class Threads {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  /** `threads` of the whole pool. */
  constructor(threads: number) {
    this.#free = Math.max(1, threads - OTHERS);
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    }
  }
}
