/** Whether files can be written at a place, asked of the file system: nothing is written for it. */
import { constants } from 'node:fs';
import { access, statfs } from 'node:fs/promises';
import { CoreError } from '../../contract/errors.ts';
import { storageError } from './storage-error.ts';

/** A file system with less is full: not even the small files of state find room. */
const LEAST_BYTES = 64 * 1024;

/** STORAGE_FULL, STORAGE_READ_ONLY, STORAGE_FAILED or STATE_UNWRITABLE; undefined where all is well, and where it cannot be told. */
export async function diskState(folder: string): Promise<CoreError | undefined> {
  try {
    await access(folder, constants.W_OK);
    const { bavail, bsize, blocks, files, ffree } = await statfs(folder);
    if (blocks > 0 && bavail * bsize < LEAST_BYTES) return full(folder, `${bavail * bsize} bytes are left`);
    return files > 0 && ffree === 0 ? full(folder, 'it can hold no more files') : undefined;
  } catch (error) {
    // Node's own permissions refuse: the caller may not know.
    if ((error as NodeJS.ErrnoException).code === 'ERR_ACCESS_DENIED') return undefined;
    return storageError(folder, error);
  }
}

function full(file: string, reason: string): CoreError {
  return new CoreError('STORAGE_FULL', { file, reason });
}
