import { readFileSync } from 'node:fs';

/** How often the system is asked, at most: between, the event loop's own account is enough. */
const LOOK_MS = 50;

/** What the system knows of a thread, in milliseconds: ran on a processor, and waited for one. */
export interface ThreadTime {
  readonly ranMs: number;
  readonly waitedMs: number;
}

/**
 * The system's account of a thread: of this one, or of the main thread of a process. Undefined where the system keeps none, or the process has gone.
 */
export function threadTime(file = '/proc/thread-self/schedstat'): ThreadTime | undefined {
  try {
    const [ran, waited] = readFileSync(file, 'latin1').split(' ');
    return { ranMs: Number(ran) / 1e6, waitedMs: Number(waited) / 1e6 };
  } catch {
    return undefined; // not Linux, or a kernel without CONFIG_SCHED_INFO
  }
}

/**
 * The time in which nobody who waits on this thread's event loop could run: it was busy, which it knows itself, or was to run and did not get a
 * processor, which the system knows.
 */
export class LoopTime {
  #takenMs = 0;
  #busyMs = 0;
  #wantedMs = 0;
  #lookAt = 0;

  taken(): number {
    const busyMs = performance.eventLoopUtilization().active;
    const now = performance.now();
    if (now < this.#lookAt) return this.#takenMs + busyMs - this.#busyMs;
    this.#lookAt = now + LOOK_MS;
    const time = threadTime();
    const wantedMs = time ? time.ranMs + time.waitedMs : 0;
    this.#takenMs += Math.max(busyMs - this.#busyMs, wantedMs - this.#wantedMs);
    this.#busyMs = busyMs;
    this.#wantedMs = wantedMs;
    return this.#takenMs;
  }
}
