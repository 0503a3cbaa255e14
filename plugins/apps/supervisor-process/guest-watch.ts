import { rounds, type Scope } from '@device-core/plugin-api';
import type { GuestLimits } from '@device-core/plugin-api/inside/app-spec';
import type { GuestUsage } from '@device-core/plugin-api/inside/services/app-supervisor';

const EVERY_MS = 2_000;
const MIB = 1024 * 1024;
/** In a row; a guest that takes far too much is not waited for. */
const TWICE = 2;
const FAR = 2;

/** A run that is looked at. */
export interface Watched {
  readonly limits: Pick<GuestLimits, 'memoryMaxMB' | 'tasksMax'>;
  /** Undefined when it has ended. */
  readonly usage: () => GuestUsage | undefined;
  readonly over: (excess: Excess) => void;
}

export interface Excess {
  readonly of: 'memory' | 'tasks';
  /** For people. */
  readonly reason: string;
}

/**
 * Watches limits that the system's kernel does not enforce: looks at all runs now and then, and reports those over a
 * limit. One timer for all, none without runs.
 */
export class GuestWatch {
  readonly #watched = new Map<Watched, number>();
  readonly #begin: () => void;

  constructor(scope: Scope) {
    this.#begin = rounds({ scope, label: 'limits of guests', ms: EVERY_MS, run: () => this.look() });
  }

  add(watched: Watched): Disposable {
    this.#watched.set(watched, 0);
    this.#begin();
    return { [Symbol.dispose]: () => void this.#watched.delete(watched) };
  }

  /** One round. True while there is somebody to look at. */
  look(): boolean {
    for (const [watched, before] of this.#watched) {
      const usage = watched.usage();
      const excess = usage && excessOf(usage, watched.limits);
      const times = excess ? before + excess.weight : 0;
      this.#watched.set(watched, times);
      if (!excess || times < TWICE) continue;
      this.#watched.delete(watched);
      watched.over(excess);
    }
    return this.#watched.size > 0;
  }
}

function excessOf(
  { memory, tasks }: GuestUsage,
  { memoryMaxMB, tasksMax }: Watched['limits'],
): (Excess & { readonly weight: number }) | undefined {
  const memoryMB = memory / MIB;
  if (memoryMB > memoryMaxMB)
    return {
      of: 'memory',
      reason: `it took ${Math.round(memoryMB)} MB of memory, and its budget is ${memoryMaxMB} MB`,
      weight: memoryMB > FAR * memoryMaxMB ? TWICE : 1,
    };
  if (tasks > tasksMax)
    return {
      of: 'tasks',
      reason: `it had ${tasks} processes and threads, and its budget is ${tasksMax}`,
      weight: tasks > FAR * tasksMax ? TWICE : 1,
    };
  return undefined;
}
