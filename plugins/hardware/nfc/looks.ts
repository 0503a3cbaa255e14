/**
 * When the readers are looked at: often while something happens, less often while the device lies alone, never while
 * there is no reader.
 */
import type { Scope } from '@device-core/plugin-api';

export interface LookSettings {
  /** Milliseconds between two looks for ten seconds after a tag came or went. */
  readonly pollMs: number;
  /** The same once nothing has happened for ten seconds: what comes or goes is noticed this late at most. */
  readonly idlePollMs: number;
}

/** Readers that are polled for tags. */
export interface Looked {
  readonly size: number;
  look(): Promise<void>;
}

const AWAKE_MS = 10_000;

export class Looks {
  readonly #scope: Scope;
  readonly #settings: LookSettings;
  readonly #readers: Looked;
  #awakeUntil = 0;
  #timer: Disposable | undefined;
  #looking = false;

  constructor(scope: Scope, settings: LookSettings, readers: Looked) {
    this.#scope = scope;
    this.#settings = settings;
    this.#readers = readers;
  }

  /** Something happens: a tag came or went, a reader was added. */
  stir(): void {
    this.#awakeUntil = this.#scope.clock.monotonic() + AWAKE_MS;
    if (!this.#looking) this.#arm();
  }

  #arm(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    if (this.#readers.size === 0 || this.#scope.signal.aborted) return;
    const { pollMs, idlePollMs } = this.#settings;
    const awake = this.#scope.clock.monotonic() < this.#awakeUntil;
    const ms = awake ? pollMs : Math.max(pollMs, idlePollMs);
    this.#timer = this.#scope.timeout('look for tags', ms, () => this.#look());
  }

  async #look(): Promise<void> {
    this.#looking = true;
    try {
      await this.#readers.look();
    } finally {
      this.#looking = false;
      this.#arm();
    }
  }
}
