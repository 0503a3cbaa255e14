import { readFileSync } from 'node:fs';

/** Least pause between two questions to the system; the event loop's account is enough in between. */
const LOOK_MS = 50;

/** The system's account of a thread in milliseconds: ran on a processor, and waited for one. */
export interface ThreadTime {
  readonly ranMs: number;
  readonly waitedMs: number;
}

/**
 * The system's account of a thread: of this one, or of the main thread of a process. Undefined where the system keeps
 * none, or the process has gone.
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
 * Time in which callbacks of this thread's event loop could not run: the loop was busy, by its own account, or the
 * thread waited for a processor, by the system's account.
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
