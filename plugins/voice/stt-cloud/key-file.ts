import { access, open } from 'node:fs/promises';
import { basename } from 'node:path';
import { CoreError } from '@device-core/plugin-api';

const MOST_BYTES = 4096;

/**
 * A key in a file of the system's configuration. Reads it each time: none stays in memory. Rejects with SPEECH_FAILED,
 * which never names its contents.
 */
export class KeyFile {
  readonly #file: string;
  readonly #engine: string;

  constructor(file: string, engine: string) {
    this.#file = file;
    this.#engine = engine;
  }

  async missing(): Promise<string | undefined> {
    const there = await access(this.#file).then(
      () => true,
      () => false,
    );
    return there ? undefined : `there is no key: put it into secrets/${basename(this.#file)} (0600)`;
  }

  async read(): Promise<string> {
    const failed = (reason: string, cause?: unknown) =>
      new CoreError('SPEECH_FAILED', { engine: this.#engine, reason }, { cause });
    try {
      await using handle = await open(this.#file);
      const { mode, size } = await handle.stat();
      if (mode & 0o077) throw failed('the file of its key may be read by others: chmod 600');
      if (size > MOST_BYTES) throw failed('the file of its key is too long');
      const key = (await handle.readFile('utf8')).trim();
      // Other characters would break out of the header.
      if (!/^[\x21-\x7e]+$/.test(key)) throw failed('the file of its key holds no key');
      return key;
    } catch (error) {
      if (error instanceof CoreError) throw error;
      throw failed(`the file of its key cannot be read (${(error as NodeJS.ErrnoException).code})`);
    }
  }
}
