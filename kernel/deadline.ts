import { afterOwnTime, type Clock, CoreError, maybe, type Spent } from '@device-core/plugin-api';
import { cancellation } from './clock.ts';

export type Outcome<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'timeout'; readonly spent: Spent }
  | { readonly kind: 'aborted' };

/** The owner of a limit, by its signal and its lost time. */
export interface Owner {
  /** An abort ends the wait. */
  readonly signal?: AbortSignal;
  /** Sources of lost time, as afterOwnTime() takes them. */
  readonly lost?: readonly (() => number)[];
}

/** Waits for `work` at most `ms` of the owner's time, or to an abort of the signal. A later result is ignored. */
export async function outcome<T>(
  clock: Clock,
  work: T | PromiseLike<T>,
  ms: number,
  { signal, lost }: Owner = {},
): Promise<Outcome<T>> {
  const ends = signal ? [signal] : [];
  const done = Promise.resolve(work).then((value): Outcome<T> => ({ kind: 'done', value }));
  done.catch(() => undefined); // a failure after the wait is ignored
  const wait = new Wait<Outcome<T>>(clock, ms, ends, {
    late: (spent) => ({ kind: 'timeout', spent }),
    ended: () => ({ kind: 'aborted' }),
    ...maybe({ lost }),
  });
  return wait.for(() => done);
}

/** The promise of `within()` of a scope: `ends` are the scope's signal, and the caller's. */
export function limited<T>(
  clock: Clock,
  label: string,
  ms: number,
  ends: readonly AbortSignal[],
  work: (signal: AbortSignal) => T | PromiseLike<T>,
): Promise<T> {
  const stop = new AbortController();
  const over = (error: CoreError): never => {
    stop.abort(error);
    throw error;
  };
  const wait = new Wait<T>(clock, ms, ends, {
    late: ({ wallMs }) =>
      over(new CoreError('TIMEOUT', wallMs > ms + 100 ? { what: label, ms, wallMs } : { what: label, ms })),
    ended: (end) => over(cancellation(label, end)),
  });
  return wait.for(() => work(stop.signal));
}

/** Results of a wait that ends before the work does. */
interface Otherwise<T> {
  late(spent: Spent): T;
  ended(signal: AbortSignal): T;
  readonly lost?: readonly (() => number)[];
}

/** One wait. When it is over nothing leads to it any more but the work itself, and that holds an empty shell. */
class Wait<T> {
  #settled: PromiseWithResolvers<T> | undefined = Promise.withResolvers<T>();
  #release: (() => void) | undefined;
  readonly #promise = this.#settled!.promise;

  constructor(clock: Clock, ms: number, ends: readonly AbortSignal[], otherwise: Otherwise<T>) {
    const ended = ends.find(({ aborted }) => aborted);
    if (ended) {
      this.#end(() => otherwise.ended(ended));
      return;
    }
    const timer =
      ms === Number.POSITIVE_INFINITY
        ? undefined
        : afterOwnTime(clock, ms, (spent) => this.#end(() => otherwise.late(spent)), otherwise.lost);
    const onAbort = ({ target }: Event) => this.#end(() => otherwise.ended(target as AbortSignal));
    for (const end of ends) end.addEventListener('abort', onAbort);
    this.#release = () => {
      timer?.[Symbol.dispose]();
      for (const end of ends) end.removeEventListener('abort', onAbort);
    };
  }

  /** Does not start the work where the wait is over already. */
  for(work: () => T | PromiseLike<T>): Promise<T> {
    if (this.#settled) {
      void (async () => work())().then(
        (value) => this.#end(() => value),
        (error) => this.#end(() => raise(error)),
      );
    }
    return this.#promise;
  }

  #end(result: () => T): void {
    const settled = this.#settled;
    if (!settled) return; // a late result, or a late failure
    this.#settled = undefined;
    this.#release?.();
    this.#release = undefined;
    try {
      settled.resolve(result());
    } catch (error) {
      settled.reject(error);
    }
  }
}

function raise(error: unknown): never {
  throw error;
}
