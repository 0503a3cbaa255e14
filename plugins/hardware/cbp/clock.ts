/** Time as the protocol sees it: injected, so that tests run on a virtual one. */

export interface Clock {
  /** Milliseconds, monotonic, with a fraction. */
  now(): number;
  /** Runs `fn` once at that time; disposing before calls it off. */
  at(time: number, fn: () => void): Disposable;
}

/** The machine's clock. Disposing it calls off everything that is pending, so it belongs into a scope. */
export class SystemClock implements Clock, Disposable {
  readonly #pending = new Set<NodeJS.Timeout | NodeJS.Immediate>();
  #disposed = false;

  now(): number {
    return performance.now();
  }

  at(time: number, fn: () => void): Disposable {
    if (this.#disposed) return { [Symbol.dispose]: () => undefined };
    const run = () => {
      this.#pending.delete(handle);
      fn();
    };
    const delay = time - performance.now();
    // A timer takes a millisecond at least: the gap between two transactions is a twentieth of that.
    const handle = delay < 0.5 ? setImmediate(run) : setTimeout(run, delay);
    this.#pending.add(handle);
    return { [Symbol.dispose]: () => this.#cancel(handle) };
  }

  [Symbol.dispose](): void {
    this.#disposed = true;
    for (const handle of this.#pending) this.#cancel(handle);
  }

  #cancel(handle: NodeJS.Timeout | NodeJS.Immediate): void {
    this.#pending.delete(handle);
    if ('refresh' in handle) clearTimeout(handle);
    else clearImmediate(handle);
  }
}
