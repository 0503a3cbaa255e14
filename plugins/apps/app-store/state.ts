import { dirname, join } from 'node:path';
import { CoreError, reasonOf } from '@device-core/plugin-api';
import {
  makeFolder,
  readState,
  recoverFile,
  replaceFile,
  storageError,
  sweepLeftovers,
} from '@device-core/plugin-api/durable';
import { FORM, type Installed, NOTHING, parseInstalled } from './installed.ts';

const HEAD = '# Written by the Core: apps that were installed on this device. Change it with devicectl app.\n';
/** Other users go through it to the code of their app. */
export const PASSAGE = 0o711;

/** `installed.yaml` with its last good copy: whole at any moment, in memory only what is durable. */
export class InstalledState {
  readonly file: string;
  #value: Installed = NOTHING;
  #problem: CoreError | undefined;
  #trouble: CoreError | undefined;

  /** `place` is `<var>/app-store`. */
  constructor(place: string) {
    this.file = join(place, 'installed.yaml');
  }

  get value(): Installed {
    return this.#value;
  }

  /** What was wrong with the file when it was read. */
  get problem(): CoreError | undefined {
    return this.#problem;
  }

  /** Why the last write failed; undefined when it did not. */
  get trouble(): CoreError | undefined {
    return this.#trouble;
  }

  /** A newer Core wrote the file, and will want it back: it and what belongs to it stay as they are. */
  get newer(): boolean {
    return this.#problem?.code === 'STATE_NEWER';
  }

  /** Reads the file, or its last good copy where it is damaged. Never rejects for the sake of the file. */
  async read(): Promise<void> {
    for (const path of [this.file, `${this.file}.last-good`]) {
      try {
        const text = await readState(path);
        if (text !== undefined) {
          this.#value = parseInstalled(text, path);
          break;
        }
        if (path === this.file) break; // nothing was ever installed
      } catch (error) {
        const known = error instanceof CoreError ? error : undefined;
        this.#problem ??= known ?? new CoreError('STATE_CORRUPT', { file: this.file, reason: reasonOf(error) });
        if (known?.code === 'STATE_NEWER') {
          this.#problem = known;
          break; // what lies beside it is older than what was installed
        }
      }
    }
  }

  /** Keeps a damaged file for whoever wants to look at it, and puts what is in use in its place. */
  async mend(): Promise<void> {
    if (this.newer) return;
    await this.#attempt(async () => {
      await sweepLeftovers(this.file);
      if (this.#problem) await recoverFile(this.file, await this.#textOf(this.#value));
    });
  }

  /** Replaces the members that are given. Durable when it resolves. Throws STATE_UNWRITABLE, STATE_NEWER, STORAGE_FULL, STORAGE_READ_ONLY,
   * STORAGE_FAILED; then nothing has changed. */
  async write(change: Partial<Installed>): Promise<void> {
    if (this.#problem && this.newer) throw this.#problem;
    const value = { ...this.#value, ...change };
    await this.#attempt(async () => {
      await makeFolder(dirname(this.file), PASSAGE);
      await replaceFile(this.file, await this.#textOf(value), { lastGood: true });
    });
    this.#value = value;
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#trouble = storageError(this.file, error);
      throw this.#trouble;
    }
    this.#trouble = undefined;
  }

  /** Throws where the Core could not read it back. */
  async #textOf(value: Installed): Promise<string> {
    const { stringify } = await import('yaml');
    const text = HEAD + stringify({ format: FORM, ...value });
    parseInstalled(text, this.file);
    return text;
  }
}
