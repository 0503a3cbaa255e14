import { threadTime } from './loop-time.ts';

/** What the system and the event loop know of this thread. */
export interface ProcessorTimes {
  /** Milliseconds on a processor. */
  readonly ran: () => number;
  /** Milliseconds in which it was to run and got no processor. Asking takes fifteen microseconds. */
  readonly waited: () => number;
  /** Milliseconds in which the event loop had something to do, those without a processor included. */
  readonly active: () => number;
}

const THREAD: ProcessorTimes = {
  ran() {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  },
  waited: () => threadTime()?.waitedMs ?? 0,
  active: () => performance.eventLoopUtilization().active,
};

/** Tells an event loop that is late by its own doing from one that waits for a processor. */
export class Processor {
  readonly #times: ProcessorTimes;
  #ran: number;
  #waited: number;
  #second: { readonly at: number; readonly active: number; readonly waited: number };

  constructor(now: number, times = THREAD) {
    this.#times = times;
    this.#ran = times.ran();
    this.#waited = times.waited();
    this.#second = { at: now, active: times.active(), waited: this.#waited };
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

  /** Share of the time since the last call in which the event loop was busy, without waiting for a processor. */
  busy(now: number): number {
    const { active, waited } = this.#times;
    const former = this.#second;
    this.#second = { at: now, active: active(), waited: waited() };
    this.#waited = this.#second.waited;
    const ms = this.#second.active - former.active - (this.#second.waited - former.waited);
    return Math.max(0, ms) / Math.max(1, this.#second.at - former.at);
  }
}
