/** Folders of state. */
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncName } from './names.ts';
import { storageError } from './storage-error.ts';

/** Makes a folder and what is missing above it; durable when it resolves. Rejects with the codes of replaceFile(). */
export async function makeFolder(path: string, mode = 0o700): Promise<void> {
  try {
    const first = await mkdir(path, { recursive: true, mode });
    if (first === undefined) return;
    for (let made = path; made.length >= first.length; made = dirname(made)) await syncName(made);
  } catch (error) {
    throw storageError(path, error);
  }
}

/** Puts a folder with these files where it stays, in the place of whatever lay there: synced first, so that it is whole or absent. */
export async function moveFolder(from: string, to: string, files: Iterable<string>): Promise<void> {
  try {
    const folders = new Set([from]);
    for (const file of files) {
      await sync(join(from, file));
      for (let folder = dirname(join(from, file)); folder.length > from.length; folder = dirname(folder))
        folders.add(folder);
    }
    for (const folder of folders) await sync(folder);
    await rm(to, { recursive: true, force: true });
    await rename(from, to);
    await syncName(to);
  } catch (error) {
    throw storageError(to, error);
  }
}

async function sync(path: string): Promise<void> {
  await using handle = await open(path, 'r');
  await handle.sync();
}
