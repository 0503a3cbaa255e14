/** Blobs, each whole or absent: what breaks off goes on where it did. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createZstdDecompress } from 'node:zlib';
import { CoreError, reasonOf } from '@device-core/plugin-api';
import { makeFolder, storageError, syncName } from '@device-core/plugin-api/durable';
import { longestBlob } from '@device-core/plugin-api/inside/image-folder';
import type { Blob, Source } from './repository.ts';

const PART = '.part';

export interface Downloading {
  readonly source: Source;
  /** `<state>/update/blobs` */
  readonly folder: string;
  readonly compressed: ReadonlyMap<string, number>;
  readonly signal: AbortSignal;
  /** Reports the arrived bytes out of all bytes to fetch. */
  readonly progress: (done: number, of: number) => void;
  /** How often a blob is asked for, and what is waited between. */
  readonly tries: number;
  readonly pause: (nth: number) => Promise<void>;
  /** Told of each try that failed and is not the last. */
  readonly failed: (error: CoreError, nth: number) => void;
}

/** Bytes that are taken of a blob at most: a source may say less than its longest, and never more. */
const mostOf = ({ sha256, size }: Blob, compressed: ReadonlyMap<string, number>): number =>
  Math.min(compressed.get(sha256) ?? Number.POSITIVE_INFINITY, longestBlob(size));

/** Bytes of the blobs that have still to travel. */
export async function bytesToFetch(
  folder: string,
  blobs: readonly Blob[],
  compressed: ReadonlyMap<string, number>,
): Promise<{ readonly bytes: number; readonly missing: readonly Blob[] }> {
  const there = new Set(await namesIn(folder));
  const missing = [...new Map(blobs.map((blob) => [blob.sha256, blob])).values()].filter(
    ({ sha256 }) => !there.has(`${sha256}.zst`),
  );
  let bytes = 0;
  for (const blob of missing) {
    const { sha256 } = blob;
    const part = there.has(`${sha256}${PART}`) ? await sizeOf(join(folder, `${sha256}${PART}`)) : 0;
    bytes += Math.max(0, mostOf(blob, compressed) - part);
  }
  return { bytes, missing };
}

/** Bytes that may still be written there: of the quota, and of the disk without what is kept free. */
export async function roomFor(folder: string, quota: number, keepFree: number): Promise<number> {
  await makeFolder(folder);
  let used = 0;
  for (const name of await namesIn(folder)) used += await sizeOf(join(folder, name));
  const { bavail, bsize } = await statfs(folder);
  return Math.min(quota - used, bavail * bsize - keepFree);
}

/**
 * Resolves when each is there and holds what its name says. Throws as `Source.fetchBlob`, and REPOSITORY_UNTRUSTED for
 * a blob that holds something else.
 */
export async function download(blobs: readonly Blob[], parts: Downloading): Promise<void> {
  const { folder, compressed, progress } = parts;
  await makeFolder(folder);
  const { bytes: of, missing } = await bytesToFetch(folder, blobs, compressed);
  let done = 0;
  progress(done, of);
  for (const blob of missing) {
    const before = done;
    const at = (bytes: number) => {
      done = bytes;
      progress(Math.min(done, of), of);
    };
    await fetchOne(blob, parts, { took: (bytes) => at(done + bytes), anew: () => at(before) });
    // Bytes of a blob that was fetched more than once count once.
    done = Math.max(before, Math.min(done, before + mostOf(blob, compressed)));
  }
}

async function fetchOne(
  blob: Blob,
  parts: Downloading,
  { took, anew }: { readonly took: (bytes: number) => void; readonly anew: () => void },
): Promise<void> {
  const { source, folder, compressed, signal, tries } = parts;
  const part = join(folder, `${blob.sha256}${PART}`);
  const most = mostOf(blob, compressed);
  for (let nth = 1; ; nth += 1) {
    signal.throwIfAborted();
    try {
      const from = await sizeOf(part);
      // A part that is whole was cut off before it was looked at.
      if (from === 0 || from < most || !(await holds(part, blob, signal)))
        await source.fetchBlob(blob, part, { from: from < most ? from : 0, most, signal, took });
      if (await holds(part, blob, signal)) return await keep(part, folder, blob);
      await rm(part, { force: true });
      anew();
      const reason = `blob ${blob.sha256} holds something else`;
      throw new CoreError('REPOSITORY_UNTRUSTED', { url: source.name, reason });
    } catch (error) {
      const again =
        error instanceof CoreError && (error.code === 'REPOSITORY_FAILED' || error.code === 'REPOSITORY_UNTRUSTED');
      if (!again || signal.aborted || nth >= tries) throw error;
      parts.failed(error, nth);
    }
    await parts.pause(nth);
  }
}

async function keep(part: string, folder: string, { sha256 }: Blob): Promise<void> {
  const path = join(folder, `${sha256}.zst`);
  try {
    {
      await using file = await open(part, 'r');
      await file.sync();
    }
    await rename(part, path);
    await syncName(path);
  } catch (error) {
    throw storageError(path, error);
  }
}

/** Does it unpack to what the blob is named after, and to no byte more? */
async function holds(path: string, { sha256, size }: Blob, signal: AbortSignal): Promise<boolean> {
  const hash = createHash('sha256');
  let length = 0;
  try {
    await pipeline(
      createReadStream(path),
      createZstdDecompress(),
      async (chunks: AsyncIterable<Buffer>) => {
        for await (const chunk of chunks) {
          length += chunk.length;
          if (length > size) throw new RangeError('it is longer than its file');
          hash.update(chunk);
        }
      },
      { signal },
    );
  } catch (error) {
    signal.throwIfAborted();
    const { code = '', syscall } = error as NodeJS.ErrnoException;
    if (syscall !== undefined && code !== 'ENOENT') throw storageError(path, error);
    return false;
  }
  return length === size && hash.digest('hex') === sha256;
}

/** Removes what no image needs. */
export async function sweep(folder: string, kept: ReadonlySet<string>): Promise<void> {
  for (const name of await namesIn(folder)) {
    const sha256 = name.replace(/\.(?:zst|part)$/, '');
    if (!kept.has(sha256)) await rm(join(folder, name), { force: true, recursive: true });
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw new CoreError('STORAGE_FAILED', { file: folder, reason: reasonOf(error) }, { cause: error });
  }
}

const sizeOf = (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => 0, // it is not there
  );
