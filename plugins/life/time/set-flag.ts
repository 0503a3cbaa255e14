/** Was the clock set since the device was switched on? Once yes, always yes: then nothing is looked at any more. */
import { type FSWatcher, watch } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Scope } from '@device-core/plugin-api';

export interface SetFlagOptions {
  readonly scope: Scope;
  /** A file that is there once it was set. */
  readonly flag: string;
  /** Asks the kernel; undefined: it is not asked. */
  readonly kernel: (() => boolean) | undefined;
  readonly changed: () => void;
}

/** Nobody tells when the kernel's clock is set by another program: it is asked with pauses, as long as it is not. */
const PAUSES = [2_000, 5_000, 15_000, 60_000];

export class SetFlag {
  readonly #options: SetFlagOptions;
  #set = false;
  #attempt = 0;
  #watcher: FSWatcher | undefined;

  constructor(options: SetFlagOptions) {
    this.#options = options;
    options.scope.defer('flag of the clock', () => this.#watcher?.close());
  }

  async begin(): Promise<void> {
    await this.look();
    this.#watch();
    this.#later();
  }

  async look(): Promise<boolean> {
    const { flag, kernel } = this.#options;
    if (!this.#set) this.#set = kernel?.() === true || (await isThere(flag));
    if (this.#set) this.#watcher?.close();
    return this.#set;
  }

  /** Somebody else knows that it was. */
  known(): void {
    this.#set = true;
    this.#watcher?.close();
  }

  #watch(): void {
    if (this.#set || this.#options.scope.signal.aborted) return;
    try {
      const watcher = watch(dirname(this.#options.flag), { persistent: false }, () => this.#options.changed());
      watcher.once('error', () => watcher.close());
      this.#watcher = watcher;
    } catch {
      this.#watcher = undefined; // its folder comes with the first who keeps it: it is looked for by the clock
    }
  }

  #later(): void {
    const { scope, changed } = this.#options;
    if (this.#set || scope.signal.aborted) return;
    const pause = PAUSES[Math.min(this.#attempt, PAUSES.length - 1)] ?? 0;
    this.#attempt += 1;
    scope.timeout('ask whether the clock was set', pause, () => {
      changed();
      if (!this.#watcher) this.#watch();
      this.#later();
    });
  }
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** TIME_ERROR of adjtimex(2): the clock is not synchronised. */
const TIME_ERROR = 5;
/** struct timex with room; `modes` 0 changes nothing. */
const TIMEX_BYTES = 512;

/**
 * Asks the kernel whether somebody keeps its clock right. Undefined where that cannot be asked: koffi is a native
 * package that may be absent.
 */
export async function kernelClock(): Promise<(() => boolean) | undefined> {
  try {
    const { default: koffi } = await import('koffi');
    const adjtimex = koffi.load(null).func('int adjtimex(void *timex)') as unknown as (timex: Buffer) => number;
    return () => {
      const state = adjtimex(Buffer.alloc(TIMEX_BYTES));
      return state >= 0 && state !== TIME_ERROR;
    };
  } catch {
    return undefined;
  }
}
