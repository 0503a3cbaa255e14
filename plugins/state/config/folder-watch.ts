/** Reports the names of changed entries of one folder. A folder that was removed, or is not there yet, is watched when it comes. */
import { type FSWatcher, statSync, watch } from 'node:fs';
import { basename } from 'node:path';
import type { Scope } from '@device-core/plugin-api';

/** A folder that is missing is looked for after so long, and then more and more rarely. */
const FIRST_MS = 1_000;
const LAST_MS = 60_000;

export interface FolderWatchOptions {
  readonly scope: Scope;
  readonly onName: (name: string) => void;
  /** False if the owner calls look() for a missing folder. */
  readonly looks?: boolean;
  /** The folder is watched from now on: what happened in it before is not told. */
  readonly onBegin: () => void;
  readonly onTrouble: (error: unknown) => void;
}

export class FolderWatch implements AsyncDisposable {
  readonly #path: string;
  readonly #scope: Scope & AsyncDisposable;
  readonly #options: FolderWatchOptions;
  #watcher: FSWatcher | undefined;
  #inode = 0;
  #again: Disposable | undefined;
  #wait = FIRST_MS;

  constructor(path: string, options: FolderWatchOptions) {
    this.#path = path;
    this.#options = options;
    this.#scope = options.scope.child(`watch of ${path}`);
    this.#scope.defer('watcher', () => this.#close());
    this.look();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#scope[Symbol.asyncDispose]();
  }

  /** Begins, if the folder is there by now. */
  look(): void {
    if (this.#watcher) return;
    this.#again?.[Symbol.dispose]();
    const { onBegin, onTrouble } = this.#options;
    try {
      this.#watcher = watch(this.#path, (_, name) => this.#touched(name));
      this.#inode = inodeOf(this.#path) ?? 0;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') this.#later();
      else onTrouble(error);
      return;
    }
    this.#watcher.on('error', onTrouble);
    this.#wait = FIRST_MS;
    onBegin();
  }

  #touched(name: string | null): void {
    if (name !== null && name !== basename(this.#path)) this.#options.onName(name);
    else if (inodeOf(this.#path) !== this.#inode) {
      // The system tells so of the folder itself, and it is not that one any more.
      this.#close();
      this.#later();
    }
  }

  #later(): void {
    if (this.#scope.signal.aborted || this.#options.looks === false) return;
    this.#again = this.#scope.timeout(`look for ${this.#path}`, this.#wait, () => this.look());
    this.#wait = Math.min(LAST_MS, this.#wait * 2);
  }

  #close(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
    this.#again?.[Symbol.dispose]();
  }
}

function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}
