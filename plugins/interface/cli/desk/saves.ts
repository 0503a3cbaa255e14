/** The saves of an author, one after the other: each is told once it is over, however many files it was made of. */
import { type FSWatcher, watch } from 'node:fs';
import { setTimeout as later } from 'node:timers/promises';

/** What no program of the app reads, or writes itself. */
const IGNORED = /(^|\/)(\.git|\.device|node_modules|__pycache__|\.[^/]*\.sw.|[^/]*~|[^/]*\.app)(\/|$)/;
/** An editor writes a file in several steps, a formatter a moment later. */
const QUIET_MS = 80;

export class Saves implements Disposable {
  readonly #watcher: FSWatcher;
  readonly #changed = new Set<string>();
  #last = 0;
  #wake: (() => void) | undefined;

  constructor(folder: string) {
    this.#watcher = watch(folder, { recursive: true }, (_event, name) => {
      if (name === null || IGNORED.test(name)) return;
      this.#changed.add(name);
      this.#last = performance.now();
      this.#wake?.();
    });
    // A folder that goes away while it is looked through; the app is told missing by the Core.
    this.#watcher.on('error', () => undefined);
  }

  /** Names of the files of the next save, relative to the folder; of all that came since the last call. Undefined: it was aborted. */
  async next(signal: AbortSignal): Promise<readonly string[] | undefined> {
    const abort = () => this.#wake?.();
    signal.addEventListener('abort', abort);
    try {
      while (this.#changed.size === 0 && !signal.aborted)
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      while (performance.now() - this.#last < QUIET_MS && !signal.aborted) await later(QUIET_MS);
    } finally {
      signal.removeEventListener('abort', abort);
    }
    if (signal.aborted) return undefined;
    const names = [...this.#changed].sort();
    this.#changed.clear();
    return names;
  }

  [Symbol.dispose](): void {
    this.#watcher.close();
  }
}
