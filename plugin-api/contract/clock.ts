/**
 * Time, as a plugin sees it: `host.clock`. Every limit, pause and timestamp of a plugin comes from here, so that a test
 * can give it a clock of its own (`virtualClock()` of the test kit) and need not wait. What is pending ends with the
 * plugin.
 */
export interface Clock {
  /** Wall time, milliseconds since the Unix epoch. It may jump when the system's time is set: for timestamps, never for limits. */
  now(): number;
  /**
   * Like now(), but as the system's time was when the Core started: it never jumps. For deadlines that are handed on,
   * `clock.steady() + 5_000`.
   */
  steady(): number;
  /**
   * Milliseconds, with a fraction, that never jump: CLOCK_MONOTONIC, the same in every worker and process of the
   * machine. For limits and durations.
   */
  monotonic(): number;
  /**
   * Milliseconds so far, of monotonic(), in which nobody who waited could run: the event loop was busy, or its thread
   * waited for a processor. What a limit leaves out, so that a slow or busy board blames nobody.
   */
  taken(): number;
  /** Runs `fn` once, `ms` milliseconds from now. Disposing before calls it off. An error in `fn` counts as a crash of the plugin. */
  after(ms: number, fn: () => void): Disposable;
  /**
   * Runs `fn` once at that time of monotonic(), or in the next turn of the event loop where it has passed. Disposing
   * before calls it off.
   */
  at(time: number, fn: () => void): Disposable;
  /** Resolves after `ms` milliseconds. Rejects when the signal aborts: with its reason where that is a CoreError, else with CANCELLED. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}
