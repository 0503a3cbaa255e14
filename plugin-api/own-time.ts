import type { Clock } from './clock.ts';

/** By the clock, a limit lasts at most this many times its length. */
export const STRETCH = 6;

/** How a limit ran out. */
export interface Spent {
  /** Milliseconds in which its owner could have run. */
  readonly ownMs: number;
  /** Milliseconds by the clock. */
  readonly wallMs: number;
}

/**
 * Runs `fn` once when `ms` milliseconds of an owner's own time are over, or six times as many by the clock: a limit that a slow or busy board does
 * not use up. `lost` are counters of the milliseconds in which the owner could not run; of several the greatest counts. Without one it is the time
 * that the event loop was taken. Disposing before calls it off.
 */
export function afterOwnTime(
  clock: Clock,
  ms: number,
  fn: (spent: Spent) => void,
  lost: readonly (() => number)[] = [() => clock.taken()],
): Disposable {
  const began = clock.monotonic();
  const marks = lost.map((counter) => counter());
  const check = (): void => {
    const wallMs = clock.monotonic() - began;
    const ownMs = wallMs - Math.min(wallMs, Math.max(0, ...lost.map((counter, index) => counter() - marks[index]!)));
    const left = Math.min(ms - ownMs, ms * STRETCH - wallMs);
    if (left < 0.001) fn({ ownMs: Math.round(ownMs), wallMs: Math.round(wallMs) });
    else timer = clock.after(Math.max(1, left), check);
  };
  let timer = clock.after(ms, check);
  return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
}

/** For an error: by what clock `ms` milliseconds were over. */
export function spentText(ms: number, { ownMs, wallMs }: Spent): string {
  if (ownMs + 1 < ms) return `${wallMs} ms by the clock, of which it could have run ${ownMs} ms: the board is busy`;
  return wallMs > ms + 1 ? `${ms} ms of its own time, ${wallMs} ms by the clock` : `${ms} ms`;
}

/**
 * True when `work` settles, well or badly, within `ms` milliseconds, without those in which the event loop was taken: six times as many by the clock
 * at most. For the release of a resource: a scope that releases has ended its own waits.
 * Anything else waits with `scope.within()`.
 */
export async function settlesWithin(clock: Clock, ms: number, work: PromiseLike<unknown>): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  using _limit = afterOwnTime(clock, ms, () => resolve(false));
  const settled = () => resolve(true);
  work.then(settled, settled);
  return await promise;
}
