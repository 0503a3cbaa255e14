/** A file whose contents the Core knows by itself: where the disk does not take it now, it is written as soon as it does. */
import type { CoreError } from '../../contract/errors.ts';
import type { Scope } from '../../contract/scope.ts';
import { type ReplaceOptions, replaceFile } from './replace.ts';
import { storageError } from './storage-error.ts';

/** A disk that refused is asked again after so long. */
const AGAIN_MS = 5_000;

export class WantedFile {
  readonly path: string;
  readonly #scope: Scope;
  readonly #options: ReplaceOptions;
  #contents = '';
  #trouble: CoreError | undefined;
  #again: Disposable | undefined;

  constructor(path: string, scope: Scope, options: ReplaceOptions = {}) {
    this.path = path;
    this.#scope = scope;
    this.#options = options;
  }

  /** Why the file does not hold what it should; undefined while it does. */
  get trouble(): CoreError | undefined {
    return this.#trouble;
  }

  /** Resolves when it is written, or known not to be: then `trouble` tells. */
  async write(contents: string): Promise<void> {
    this.#contents = contents;
    try {
      await replaceFile(this.path, contents, this.#options);
      this.#trouble = undefined;
    } catch (error) {
      this.#trouble = storageError(this.path, error);
      if (this.#scope.signal.aborted) return;
      this.#again ??= this.#scope.timeout(`write ${this.path} again`, AGAIN_MS, () => {
        this.#again = undefined;
        return this.write(this.#contents);
      });
    }
  }
}
