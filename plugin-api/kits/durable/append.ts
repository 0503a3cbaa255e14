/**
 * Files that grow at their end: a line that the disk took only in part is taken back, so that it spoils neither itself
 * nor the next one.
 */
import { rename, truncate } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Descriptor } from './descriptor.ts';
import { syncName } from './names.ts';
import { storageError } from './storage-error.ts';

export interface AppendOptions {
  /** Permissions of a new file, 0600 if absent. */
  readonly mode?: number;
  /** False where a loss of power may take the last of it. */
  readonly sync?: boolean;
  /** A file that would become longer than so many bytes is put aside as `<file>.1` first. */
  readonly most?: number;
}

/** The end of what is appended to each file in this thread. */
const turns = new Map<string, Promise<void>>();

/**
 * Appends all of it or nothing; durable when it resolves. Rejects with the codes of replaceFile(). Calls for one file
 * are served in their order.
 */
export function appendFile(path: string, contents: string | Uint8Array, options: AppendOptions = {}): Promise<void> {
  const file = resolve(path);
  const before = turns.get(file) ?? Promise.resolve();
  const done = before
    .then(() => append(file, Buffer.from(contents as string), options))
    .catch((thrown) => {
      throw storageError(file, thrown);
    });
  const turn = done
    .then(undefined, () => undefined)
    .then(() => {
      if (turns.get(file) === turn) turns.delete(file);
    });
  turns.set(file, turn);
  return done;
}

async function append(file: string, bytes: Buffer, options: AppendOptions): Promise<void> {
  const { mode = 0o600, sync = true, most = Number.POSITIVE_INFINITY } = options;
  {
    using end = await Descriptor.open(file, 'end', mode, sync);
    const { size } = end;
    if (size === 0 || size + bytes.length <= most) {
      await end.write(bytes).catch(async (error) => {
        await truncate(file, size);
        throw error;
      });
      if (sync && size === 0) await syncName(file);
      return;
    }
  }
  await rename(file, `${file}.1`);
  await append(file, bytes, options);
}
