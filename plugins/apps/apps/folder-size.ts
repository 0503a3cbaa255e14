import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';

/** Size of a folder on the disk. */
export interface FolderSize {
  readonly bytes: number;
  /** Files and folders. */
  readonly entries: number;
  /** It holds more than was looked at. */
  readonly more: boolean;
}

/** A file system has room for so many files and folders, empty ones too: each counts as one block at least. */
export const ENTRY_BYTES = 4_096;

/**
 * Sum of what all below it takes, links not followed. Bounded: after so many entries it is at least that. Never rejects
 * for what goes meanwhile.
 */
export async function folderSize(folder: string, most = 100_000): Promise<FolderSize> {
  const waiting = [folder];
  let [bytes, entries] = [0, 0];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for await (const entry of entriesOf(next)) {
      if (++entries > most) return { bytes, entries, more: true };
      const path = join(next, entry.name);
      if (entry.isDirectory()) waiting.push(path);
      bytes += Math.max(ENTRY_BYTES, await takenBy(path));
    }
  }
  return { bytes, entries, more: false };
}

async function* entriesOf(folder: string) {
  try {
    yield* await opendir(folder);
  } catch (thrown) {
    if (!isGone(thrown)) throw thrown;
  }
}

async function takenBy(path: string): Promise<number> {
  try {
    return (await lstat(path)).blocks * 512;
  } catch (thrown) {
    if (!isGone(thrown)) throw thrown;
    return 0;
  }
}

/** Or the app has closed it to others. */
function isGone(thrown: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'EACCES'].includes((thrown as NodeJS.ErrnoException).code ?? '');
}
