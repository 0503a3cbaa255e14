import { monotonicMs } from '../services/audio.ts';

let origin = Date.now() - monotonicMs();

/**
 * Milliseconds since the Unix epoch, as the system's time was when the Core started: they go on evenly, whatever that
 * time is set to. For deadlines that are handed on; the same in the Core and in every worker and process of it.
 */
export function steadyMs(): number {
  return Math.floor(origin + monotonicMs());
}

/** Value of steadyMs() at 0 of the monotonic clock. */
export const steadyOrigin = (): number => origin;

/** The Core's own, in a worker or process of it that started after the system's time was set. */
export function keepSteady(coreOrigin: number): void {
  origin = coreOrigin;
}
