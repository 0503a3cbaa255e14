import { dirname } from 'node:path';
import type { CoreError } from '@device-core/plugin-api';
import { makeFolder, recoverFile, replaceFile, storageError, sweepLeftovers } from '@device-core/plugin-api/durable';
import { type Installed, installedFile, parseInstalled, readInstalled } from '@device-core/plugin-api/inside/installed';

const HEAD = '# Written by the Core: plugins that were installed on this device. Change it with devicectl plugin.\n';

/** `installed.yaml` with its last good copy: whole at any moment, in memory only what is durable. */
export class InstalledState {
  readonly file: string;
  /** What was wrong with the file when it was read. */
  readonly problem: CoreError | undefined;
  #value: Installed;
  #trouble: CoreError | undefined;

  constructor(state: string) {
    const { installed, problem } = readInstalled(state);
    this.file = installedFile(state);
    this.problem = problem;
    this.#value = installed;
  }

  get value(): Installed {
    return this.#value;
  }

  /** Why the last write failed; undefined when it did not. */
  get trouble(): CoreError | undefined {
    return this.#trouble;
  }

  /** A newer Core wrote the file, and will want it back: it and what belongs to it stay as they are. */
  get newer(): boolean {
    return this.problem?.code === 'STATE_NEWER';
  }

  /** Replaces the members that are given. Durable when it resolves. Throws STATE_UNWRITABLE, STATE_NEWER, STORAGE_FULL, STORAGE_READ_ONLY,
   * STORAGE_FAILED; then nothing has changed. */
  async write(change: Partial<Installed>): Promise<void> {
    if (this.problem && this.newer) throw this.problem;
    const value = { ...this.#value, ...change };
    try {
      const text = await this.#textOf(value);
      await makeFolder(dirname(this.file));
      await replaceFile(this.file, text, { lastGood: true });
    } catch (error) {
      this.#trouble = storageError(this.file, error);
      throw this.#trouble;
    }
    this.#trouble = undefined;
    this.#value = value;
  }

  /** Keeps a damaged file for whoever wants to look at it, and puts what is in use in its place. */
  async mend(): Promise<void> {
    if (this.newer) return;
    try {
      await sweepLeftovers(this.file);
      if (this.problem) await recoverFile(this.file, await this.#textOf(this.#value));
    } catch (error) {
      this.#trouble = storageError(this.file, error);
      throw this.#trouble;
    }
  }

  /** Throws where the Core could not read it back. */
  async #textOf({ plugins, rolledBack, disabled }: Installed): Promise<string> {
    const { stringify } = await import('yaml');
    const text = HEAD + stringify({ format: 1, plugins, rolledBack, disabled });
    parseInstalled(text, this.file);
    return text;
  }
}
