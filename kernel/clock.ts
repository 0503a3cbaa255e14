import { type Clock, CoreError, steadyMs } from '@device-core/plugin-api';
import { LoopTime } from './usage/loop-time.ts';

/** A timer of Node takes no more, and fires at once instead. It forgets the part of a millisecond. */
const LONGEST_MS = 2 ** 31 - 1;
/** performance.now() counts from the start of the thread, this from the start of the machine. */
const ORIGIN_MS = Number(process.hrtime.bigint()) / 1e6 - performance.now();
const loop = new LoopTime();

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  steady: steadyMs,
  monotonic: () => ORIGIN_MS + performance.now(),
  taken: () => loop.taken(),
  after: (ms, fn) =>
    ms >= 1 && ms <= LONGEST_MS ? timer(Math.ceil(ms), fn) : systemClock.at(systemClock.monotonic() + ms, fn),
  at(time, fn) {
    const left = time - systemClock.monotonic();
    // A timer takes a millisecond at least; the gap between two transactions of a bus is a twentieth of that.
    if (left < 0.5) return immediate(fn);
    if (left <= LONGEST_MS) return timer(left, fn);
    let next = timer(LONGEST_MS, () => {
      next = systemClock.at(time, fn);
    });
    return { [Symbol.dispose]: () => next[Symbol.dispose]() };
  },
  sleep: (ms, signal) => sleep(systemClock, ms, signal),
};

function timer(ms: number, fn: () => void): Disposable {
  const handle = setTimeout(fn, ms);
  return { [Symbol.dispose]: () => clearTimeout(handle) };
}

function immediate(fn: () => void): Disposable {
  const handle = setImmediate(fn);
  return { [Symbol.dispose]: () => clearImmediate(handle) };
}

/** Error of a wait that a signal ends. */
export function cancellation(what: string, { reason }: AbortSignal): CoreError {
  return reason instanceof CoreError
    ? reason
    : new CoreError('CANCELLED', { what, reason: 'the caller no longer waits' });
}

/** sleep() of any clock. Each of the signals ends it. */
export async function sleep(
  clock: Pick<Clock, 'after'>,
  ms: number,
  ...signals: readonly (AbortSignal | undefined)[]
): Promise<void> {
  const ends = signals.filter((signal) => signal !== undefined);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const stop = ({ target }: Event) => reject(cancellation('a pause', target as AbortSignal));
  for (const end of ends) if (end.aborted) throw cancellation('a pause', end);
  for (const end of ends) end.addEventListener('abort', stop);
  using _timer = clock.after(ms, resolve);
  try {
    await promise;
  } finally {
    for (const end of ends) end.removeEventListener('abort', stop);
  }
}

/** The clock of one plugin: what is pending in it ends with the plugin. */
export class PluginClock implements Clock, Disposable {
  readonly #clock: Clock;
  readonly #plugin: string;
  readonly #pending = new Set<Disposable>();
  readonly #end = new AbortController();

  constructor(clock: Clock, plugin: string) {
    this.#clock = clock;
    this.#plugin = plugin;
    Object.freeze(this);
  }

  now(): number {
    return this.#clock.now();
  }

  steady(): number {
    return this.#clock.steady();
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  taken(): number {
    return this.#clock.taken();
  }

  after(ms: number, fn: () => void): Disposable {
    return this.#keep(fn, (run) => this.#clock.after(ms, run));
  }

  at(time: number, fn: () => void): Disposable {
    return this.#keep(fn, (run) => this.#clock.at(time, run));
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleep(this.#clock, ms, signal, this.#end.signal);
  }

  #keep(fn: () => void, start: (run: () => void) => Disposable): Disposable {
    if (this.#end.signal.aborted) return { [Symbol.dispose]: () => undefined };
    const pending = start(() => {
      this.#pending.delete(pending);
      fn();
    });
    this.#pending.add(pending);
    return { [Symbol.dispose]: () => void (this.#pending.delete(pending) && pending[Symbol.dispose]()) };
  }

  [Symbol.dispose](): void {
    this.#end.abort(new CoreError('CANCELLED', { what: `plugin ${this.#plugin}`, reason: 'it was stopped' }));
    for (const pending of this.#pending) pending[Symbol.dispose]();
    this.#pending.clear();
  }
}
