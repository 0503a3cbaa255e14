import { threadTime } from './loop-time.ts';

/** The system's account of this thread. */
export interface ProcessorTimes {
  /** Milliseconds on a processor. */
  readonly ran: () => number;
  /** Milliseconds of waiting for a processor. A call takes fifteen microseconds. */
  readonly waited: () => number;
}

const THREAD: ProcessorTimes = {
  ran() {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  },
  waited: () => threadTime()?.waitedMs ?? 0,
};

/** Tells an event loop that is late by its own work from one that waits for a processor. */
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

  /** The owner calls it at each look at the event loop. */
  ticked(): void {
    this.#ran = this.#times.ran();
  }

  /** Part of `lateMs` since the last tick in which the thread ran or was blocked; in the rest it waited for a processor. */
  own(lateMs: number): number {
    const waited = this.#times.waited();
    const waitedMs = waited - this.#waited;
    this.#waited = waited;
    return Math.max(this.#times.ran() - this.#ran, lateMs - waitedMs);
  }

  /** Share of the time since the last call in which the thread ran. A wait for a processor does not count as busy. */
  busy(now: number): number {
    const { at, ran } = this.#second;
    this.#second = { at: now, ran: this.#times.ran() };
    this.#waited = this.#times.waited();
    return (this.#second.ran - ran) / Math.max(1, now - at);
  }
}
