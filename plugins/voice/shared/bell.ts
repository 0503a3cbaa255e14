/** Rings until it is stopped or its time is over. Without a sound it rings all the same, for those who see it. */
import { type Logger, reasonOf, type Scope } from '@device-core/plugin-api';

const PAUSE_MS = 1_000;

export interface BellOptions {
  readonly scope: Scope;
  readonly log: Logger;
  /** Noun of the warning: `timer`. */
  readonly what: string;
  /** Plays it once, for the time of that number, and resolves when it was heard; rejects with the reason where it cannot. */
  readonly sound: (signal: AbortSignal, time: number) => Promise<void>;
}

export class Bell {
  readonly #options: BellOptions;
  #alarm: AbortController | undefined;
  #limit: Disposable | undefined;

  constructor(options: BellOptions) {
    this.#options = options;
  }

  /** One sound at a time; a further call prolongs it. `over`: its time has passed, and it is still to be stopped. */
  async ring(ms: number, over: () => void): Promise<void> {
    const { scope } = this.#options;
    this.#limit?.[Symbol.dispose]();
    this.#limit = scope.timeout('end of the alarm', ms, over);
    if (this.#alarm) return;
    const alarm = new AbortController();
    this.#alarm = alarm;
    const sound = (signal: AbortSignal) => this.#play(signal);
    await scope
      .within('the alarm', Number.POSITIVE_INFINITY, sound, { signal: alarm.signal })
      .catch((error: unknown) => {
        if (!alarm.signal.aborted && !scope.signal.aborted) throw error;
      });
  }

  stop(): void {
    this.#limit?.[Symbol.dispose]();
    this.#limit = undefined;
    this.#alarm?.abort();
    this.#alarm = undefined;
  }

  async #play(signal: AbortSignal): Promise<void> {
    const { scope, log, sound, what } = this.#options;
    let heard = true;
    for (let time = 0; !signal.aborted; time++) {
      try {
        if (heard) await sound(signal, time);
      } catch (error) {
        if (signal.aborted || scope.signal.aborted) return;
        heard = false;
        log.warn({ error: reasonOf(error) }, `the alarm of ${what} cannot be heard`);
      }
      await scope.clock.sleep(PAUSE_MS, signal);
    }
  }
}
