import type { Clock } from '../contract/clock.ts';

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
 * A limit of `ms` milliseconds of an owner's own time, or six times as many by the clock: a slow or busy board does not
 * use it up. It begins when it is made. `lost` are counters of the milliseconds in which the owner could not run; of
 * several the greatest counts. Without one it is the time that the event loop was taken. To be looked at where
 * something else wakes its owner; `afterOwnTime()` waits for one.
 */
export class OwnTimeLimit {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #lost: readonly (() => number)[];
  readonly #began: number;
  readonly #marks: readonly number[];

  constructor(clock: Clock, ms: number, lost: readonly (() => number)[] = [() => clock.taken()]) {
    this.#clock = clock;
    this.#ms = ms;
    this.#lost = lost;
    this.#began = clock.monotonic();
    this.#marks = lost.map((counter) => counter());
  }

  /** So far. */
  get spent(): Spent {
    const { ownMs, wallMs } = this.#look();
    return { ownMs: Math.round(ownMs), wallMs: Math.round(wallMs) };
  }

  /** Milliseconds in which it cannot run out; 0 when it has. */
  get leftMs(): number {
    const { ownMs, wallMs } = this.#look();
    const left = Math.min(this.#ms - ownMs, this.#ms * STRETCH - wallMs);
    return left < 0.001 ? 0 : left;
  }

  #look(): Spent {
    const wallMs = this.#clock.monotonic() - this.#began;
    const lostMs = Math.max(0, ...this.#lost.map((counter, index) => counter() - this.#marks[index]!));
    return { ownMs: wallMs - Math.min(wallMs, lostMs), wallMs };
  }
}

/**
 * Runs `fn` once when an `OwnTimeLimit` of `ms` milliseconds is over. Disposing before calls it off.
 */
export function afterOwnTime(
  clock: Clock,
  ms: number,
  fn: (spent: Spent) => void,
  lost?: readonly (() => number)[],
): Disposable {
  const limit = new OwnTimeLimit(clock, ms, lost);
  const check = (): void => {
    const left = limit.leftMs;
    if (left === 0) fn(limit.spent);
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
 * True when `work` settles, well or badly, within `ms` milliseconds, without those in which the event loop was taken:
 * six times as many by the clock at most. For the release of a resource: a scope that releases has ended its own waits.
 * Anything else waits with `scope.within()`.
 */
export async function settlesWithin(clock: Clock, ms: number, work: PromiseLike<unknown>): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  using _limit = afterOwnTime(clock, ms, () => resolve(false));
  const settled = () => resolve(true);
  work.then(settled, settled);
  return await promise;
}
