/** Time of the simulated bridge: the machine's in the process, a virtual one in tests. */

export interface SimClock {
  /** Milliseconds with a fraction. */
  now(): number;
  /** Runs `fn` once at that time and returns how to call it off. */
  at(time: number, fn: () => void): Disposable;
}

/** Fires up to half a millisecond early rather than a millisecond late: executors keep their own time line, so that nothing adds up. */
export class RealClock implements SimClock {
  now(): number {
    return performance.now();
  }

  at(time: number, fn: () => void): Disposable {
    const delay = time - performance.now();
    if (delay < 0.5) {
      const handle = setImmediate(fn);
      return { [Symbol.dispose]: () => clearImmediate(handle) };
    }
    const handle = setTimeout(fn, delay);
    return { [Symbol.dispose]: () => clearTimeout(handle) };
  }
}
