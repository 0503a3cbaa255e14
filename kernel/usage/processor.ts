import { threadTime } from './loop-time.ts';

/** What the system knows of this thread. */
export interface ProcessorTimes {
  /** Milliseconds on a processor. */
  readonly ran: () => number;
  /** Milliseconds in which it was to run and got no processor. Asking takes fifteen microseconds. */
  readonly waited: () => number;
}

const THREAD: ProcessorTimes = {
  ran() {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  },
  waited: () => threadTime()?.waitedMs ?? 0,
};

/** Tells an event loop that is late by its own doing from one that waits for a processor. */
export class Processor {
  readonly #times: ProcessorTimes;
  #ran: number;
  #waited: number;
  #second: { readonly at: number; readonly ran: number };

  constructor(now: number, times = THREAD) {
    this.#times = times;
    this.#ran = times.ran();
    this.#waited = times.waited();
    this.#second = { at: now, ran: this.#ran };
  }

  /** To be called at each look at the event loop. */
  ticked(): void {
    this.#ran = this.#times.ran();
  }

  /** Of so many milliseconds that it is late since the last tick, those in which it ran or was blocked; the rest it waited for a processor. */
  own(lateMs: number): number {
    const waited = this.#times.waited();
    const waitedMs = waited - this.#waited;
    this.#waited = waited;
    return Math.max(this.#times.ran() - this.#ran, lateMs - waitedMs);
  }

  /** Share of the time since the last call in which it ran. Waiting for a processor keeps no loop busy. */
  busy(now: number): number {
    const { at, ran } = this.#second;
    this.#second = { at: now, ran: this.#times.ran() };
    this.#waited = this.#times.waited();
    return (this.#second.ran - ran) / Math.max(1, now - at);
  }
}
