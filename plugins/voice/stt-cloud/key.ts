import { open } from 'node:fs/promises';
import { CoreError } from '@device-core/plugin-api';

const MOST_BYTES = 4096;

/** Reads the key each time: a new one is taken up at once, and none stays in memory. Rejects with SPEECH_FAILED, which never names its contents. */
export class Key {
  readonly #file: string | undefined;
  readonly #engine: string;

  constructor(file: string | undefined, engine: string) {
    this.#file = file;
    this.#engine = engine;
  }

  /** Headers of a request. */
  async headers(): Promise<Record<string, string>> {
    if (this.#file === undefined) return {};
    return { authorization: `Bearer ${await this.#read(this.#file)}` };
  }

  async #read(file: string): Promise<string> {
    const failed = (reason: string, cause?: unknown) =>
      new CoreError('SPEECH_FAILED', { engine: this.#engine, reason }, { cause });
    try {
      await using handle = await open(file);
      const { mode, size } = await handle.stat();
      if (mode & 0o077) throw failed('the file of its key may be read by others: chmod 600');
      if (size > MOST_BYTES) throw failed('the file of its key is too long');
      const key = (await handle.readFile('utf8')).trim();
      // What else could be in a file would break out of the header.
      if (!/^[\x21-\x7e]+$/.test(key)) throw failed('the file of its key holds no key');
      return key;
    } catch (error) {
      if (error instanceof CoreError) throw error;
      throw failed(`the file of its key cannot be read (${(error as NodeJS.ErrnoException).code})`);
    }
  }
}
