/** Part of a file, as a blob to its place. */
import { type FileHandle, open } from 'node:fs/promises';
import { CoreError, reasonOf } from '@device-core/plugin-api';
import { isStorageTrouble, storageError } from '@device-core/plugin-api/durable';
import type { BlobOptions } from './repository.ts';

const CHUNK = 1 << 18;

export interface Part {
  readonly file: FileHandle;
  readonly at: number;
  readonly size: number;
  /** For messages. */
  readonly name: string;
}

/** Throws as `Source.fetchBlob`. */
export async function copyPart(
  { file, at, size, name }: Part,
  to: string,
  { from, most, signal, took }: BlobOptions,
): Promise<void> {
  const failed = (reason: string, cause?: unknown) =>
    new CoreError('REPOSITORY_FAILED', { url: name, reason }, { cause });
  if (size > most) throw failed(`it has ${size} bytes, ${most} are the most that it can have`);
  const begin = from <= size ? from : 0;
  try {
    await using target = await open(to, begin > 0 ? 'r+' : 'w', 0o600);
    await target.truncate(begin);
    const buffer = Buffer.allocUnsafe(Math.min(CHUNK, Math.max(1, size)));
    for (let done = begin; done < size; ) {
      signal.throwIfAborted();
      const { bytesRead } = await file
        .read(buffer, 0, Math.min(buffer.length, size - done), at + done)
        .catch((error: unknown) => Promise.reject(failed(reasonOf(error), error)));
      if (bytesRead === 0) throw failed(`it ends after ${done} of ${size} bytes`);
      await target.write(buffer, 0, bytesRead, done);
      done += bytesRead;
      took?.(bytesRead);
    }
  } catch (error) {
    if (error instanceof CoreError || signal.aborted) throw error;
    const disk = storageError(to, error);
    throw isStorageTrouble(disk) ? disk : failed(reasonOf(error), error);
  }
}
