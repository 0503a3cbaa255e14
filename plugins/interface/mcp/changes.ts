/** Listeners to the list of tools. What changes while a listener is slow comes together: the news is that it is another. */
import { CoreError } from '@device-core/plugin-api';

const MOST = 32;

export class Changes {
  readonly #listeners = new Set<() => void>();

  get size(): number {
    return this.#listeners.size;
  }

  tell(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Yields after each change until the signal is aborted. Throws BUSY. */
  async *follow(signal: AbortSignal): AsyncGenerator<void> {
    if (this.#listeners.size >= MOST) throw new CoreError('BUSY', { what: 'another listener of tools', limit: MOST });
    let wake = Promise.withResolvers<void>();
    let changed = false;
    const listener = () => {
      changed = true;
      wake.resolve();
    };
    const end = () => wake.resolve();
    this.#listeners.add(listener);
    signal.addEventListener('abort', end, { once: true });
    try {
      while (!signal.aborted) {
        await wake.promise;
        wake = Promise.withResolvers();
        if (signal.aborted || !changed) continue;
        changed = false;
        yield;
      }
    } finally {
      this.#listeners.delete(listener);
      signal.removeEventListener('abort', end);
    }
  }
}
