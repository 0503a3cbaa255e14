import { mkdir, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CoreError, reasonOf } from '@device-core/plugin-api';
import { replaceFile, syncName } from '@device-core/plugin-api/durable';
import { type Installed, installedFile, parseInstalled, readInstalled } from '@device-core/plugin-api/installed';

const HEAD = '# Written by the Core: plugins that were installed on this device. Change it with devicectl plugin.\n';

/** `installed.yaml` with its last good copy: whole at any moment, in memory only what is durable. */
export class InstalledState {
  readonly file: string;
  /** What was wrong with the file when it was read. */
  readonly problem: CoreError | undefined;
  #value: Installed;

  constructor(state: string) {
    const { installed, problem } = readInstalled(state);
    this.file = installedFile(state);
    this.problem = problem;
    this.#value = installed;
  }

  get value(): Installed {
    return this.#value;
  }

  /** Replaces the members that are given. Durable when it resolves. Throws STATE_UNWRITABLE; then nothing has changed. */
  async write(change: Partial<Installed>): Promise<void> {
    const value = { ...this.#value, ...change };
    try {
      const { stringify } = await import('yaml');
      const { plugins, rolledBack, disabled } = value;
      const text = HEAD + stringify({ format: 1, plugins, rolledBack, disabled });
      parseInstalled(text, this.file); // the Core must be able to read it back
      await mkdir(dirname(this.file), { recursive: true, mode: 0o700 });
      await replaceFile(`${this.file}.last-good`, text);
      await replaceFile(this.file, text);
      await syncName(this.file);
    } catch (error) {
      throw new CoreError('STATE_UNWRITABLE', { file: this.file, reason: reasonOf(error) }, { cause: error });
    }
    this.#value = value;
  }

  /** Keeps a damaged file for whoever wants to look at it, and puts what is in use in its place. */
  async mend(): Promise<void> {
    if (!this.problem) return;
    await rename(this.file, `${this.file}.corrupt`);
    await this.write(this.#value);
  }
}
