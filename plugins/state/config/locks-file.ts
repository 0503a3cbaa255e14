import { readFile } from 'node:fs/promises';
import { type Logger, reasonOf } from '@device-core/plugin-api';
import { type Lock, type Locks, NO_LOCKS, parseLocks } from './locks.ts';
import type { Problems } from './problems.ts';

/** The locks of the OEM as they were read last. A file that cannot be read changes none. */
export class LocksFile implements Locks {
  readonly #path: string;
  readonly #problems: Problems;
  readonly #log: Logger;
  #locks: Locks = NO_LOCKS;

  constructor(path: string, problems: Problems, log: Logger) {
    this.#path = path;
    this.#problems = problems;
    this.#log = log;
  }

  find(key: string): Lock | undefined {
    return this.#locks.find(key);
  }

  async load(): Promise<void> {
    const file = this.#path;
    try {
      this.#locks = parseLocks(await readFile(file, 'utf8'), file);
      this.#problems.mended(file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
        this.#locks = NO_LOCKS;
        this.#problems.mended(file);
        return;
      }
      const message = `${reasonOf(error)}; the former locks stay`;
      if (this.#problems.fault(file, 'STATE_CORRUPT', message)) this.#log.error({ file }, message);
    }
  }
}
