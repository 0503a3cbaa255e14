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

  /** A newer Core wrote the file, and will want it back: it and what belongs to it stay as they are. */
  get newer(): boolean {
    return this.problem?.code === 'STATE_NEWER';
  }

  /** Replaces the members that are given. Durable when it resolves. Throws STATE_UNWRITABLE, STATE_NEWER; then nothing has changed. */
  async write(change: Partial<Installed>): Promise<void> {
    if (this.problem && this.newer) throw this.problem;
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
    if (!this.problem || this.newer) return;
    await rename(this.file, `${this.file}.corrupt`);
    await this.write(this.#value);
  }
}
