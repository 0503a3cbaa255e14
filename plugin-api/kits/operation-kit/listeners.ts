import { reasonOf } from '../../contract/errors.ts';
import type { Logger } from '../../contract/logger.ts';

/** Listeners by name. A listener may come before the thing of that name. */
export class Listeners<T> {
  readonly #byName = new Map<string, Set<(value: T) => void>>();
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  add(name: string, listener: (value: T) => void): Disposable {
    const listeners = this.#byName.get(name) ?? new Set();
    const own = (value: T) => listener(value);
    this.#byName.set(name, listeners.add(own));
    return {
      [Symbol.dispose]: () => {
        listeners.delete(own);
        if (listeners.size === 0 && this.#byName.get(name) === listeners) this.#byName.delete(name);
      },
    };
  }

  /** A listener that throws is logged; the others hear it all the same. */
  tell(name: string, value: T): void {
    for (const listener of [...(this.#byName.get(name) ?? [])]) {
      try {
        listener(value);
      } catch (error) {
        this.#log.error({ name, error: reasonOf(error) }, 'a listener failed');
      }
    }
  }
}
