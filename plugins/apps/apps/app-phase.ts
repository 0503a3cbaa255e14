import type { Clock } from '@device-core/plugin-api';
import type { AppState } from '@device-core/plugin-api/services/apps';

const ACTIVE: readonly AppState[] = ['starting', 'running', 'backoff'];
const TROUBLED: readonly AppState[] = ['backoff', 'failed', 'quarantined'];

/** State of an app, the reason for it, and the time since. */
export class AppPhase {
  readonly #clock: Clock;
  readonly #changed: () => void;
  #state: AppState;
  #reason: string | undefined;
  #since: number;
  /** The same moment, monotonic. */
  #entered: number;

  constructor(clock: Clock, quarantine: string | undefined, changed: () => void) {
    this.#clock = clock;
    this.#changed = changed;
    this.#state = quarantine === undefined ? 'stopped' : 'quarantined';
    this.#reason = quarantine;
    this.#since = clock.now();
    this.#entered = clock.monotonic();
  }

  get state(): AppState {
    return this.#state;
  }

  get reason(): string | undefined {
    return this.#reason;
  }

  /** Milliseconds since the Unix epoch. */
  get since(): number {
    return this.#since;
  }

  /** The app runs, or will again by itself. */
  get isActive(): boolean {
    return ACTIVE.includes(this.#state);
  }

  get isTroubled(): boolean {
    return TROUBLED.includes(this.#state);
  }

  /** Milliseconds for which the app has been running; 0 where it does not. */
  get ranMs(): number {
    return this.#state === 'running' ? this.#clock.monotonic() - this.#entered : 0;
  }

  enter(state: AppState, reason?: string): void {
    this.#state = state;
    this.#since = this.#clock.now();
    this.#entered = this.#clock.monotonic();
    this.#reason = reason;
    this.#changed();
  }
}
