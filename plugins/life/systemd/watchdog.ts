import type { PluginHost } from '@device-core/plugin-api';

/**
 * Says that the event loop turns, twice in the time that the service manager waits. The timer is the loop's own, so
 * that a loop that hangs says nothing: the service manager then ends the Core and starts it again.
 */
export class Watchdog {
  /** Microseconds. */
  readonly #usec: number;

  private constructor(usec: number) {
    this.#usec = usec;
  }

  /** Undefined where nobody waits, or waits for another process. */
  static of(env: Readonly<Record<string, string | undefined>>, pid = process.pid): Watchdog | undefined {
    const usec = Number(env.WATCHDOG_USEC);
    if (!Number.isSafeInteger(usec) || usec <= 0) return undefined;
    if (env.WATCHDOG_PID !== undefined && env.WATCHDOG_PID !== String(pid)) return undefined;
    return new Watchdog(usec);
  }

  get everyMs(): number {
    return Math.max(1, Math.floor(this.#usec / 2_000));
  }

  /**
   * Sends keep-alives until the plugin ends. Where the Core runs on without the plugin the watchdog is switched off:
   * that is not hung.
   */
  keep({ scope }: PluginHost, tell: (message: string) => unknown, ending: () => boolean): void {
    // Takes back what a former run of the plugin said at its end.
    tell(`WATCHDOG_USEC=${this.#usec}`);
    tell('WATCHDOG=1');
    scope.interval('watchdog', this.everyMs, () => void tell('WATCHDOG=1'));
    scope.defer('watchdog', () => {
      if (!ending()) tell('WATCHDOG_USEC=0');
    });
  }
}
