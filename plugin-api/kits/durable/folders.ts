/** Folders of state. */
import type { Dirent } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncName } from './names.ts';
import { storageError } from './storage-error.ts';

/** Files that are written to the disk side by side. */
const AT_ONCE = 16;

/** Makes a folder and what is missing above it; durable when it resolves. Rejects with the codes of replaceFile(). */
export async function makeFolder(path: string, mode = 0o700): Promise<void> {
  try {
    await make(path, mode);
  } catch (error) {
    throw storageError(path, error);
  }
}

/** One by one: the system's own answer for a disk that is read-only is `no such file` where more than one folder is missing. */
async function make(path: string, mode: number): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && (await stat(path)).isDirectory()) return;
    if (
      code === 'EROFS' &&
      (await stat(path).then(
        (info) => info.isDirectory(),
        () => false,
      ))
    )
      return;
    if (code !== 'ENOENT' || dirname(path) === path) throw error;
    await make(dirname(path), mode);
    return make(path, mode);
  }
  await syncName(path);
}

/** Puts a folder with these files where it stays, in the place of whatever lay there: synced first, so that it is whole or absent. */
export async function moveFolder(from: string, to: string, files: Iterable<string>): Promise<void> {
  try {
    const folders = new Set([from]);
    const waiting = [...files];
    for (const file of waiting)
      for (let folder = dirname(join(from, file)); folder.length > from.length; folder = dirname(folder))
        folders.add(folder);
    const work = async () => {
      for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) await sync(join(from, file));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
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

/** Gives a file of the same file system another name. What it holds may be lost with the power: it is a copy of something. */
export async function moveFile(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    throw storageError(to, error);
  }
}

/**
 * Removes what lies in the folders below `place` and is not in `kept`; a folder that is in it is looked into. Files
 * beside the folders stay, and so do the folders that `stays` names. Nothing where `place` is not there.
 */
export async function removeUnnamed(
  place: string,
  kept: ReadonlySet<string>,
  stays: (name: string) => boolean,
  remove: (path: string) => Promise<void> = (path) => rm(path, { recursive: true, force: true }),
): Promise<void> {
  for (const entry of await entriesOf(place)) {
    if (!entry.isDirectory() || stays(entry.name)) continue;
    const path = join(place, entry.name);
    const inside = kept.has(path) ? (await readdir(path)).map((name) => join(path, name)) : [path];
    for (const one of inside) if (!kept.has(one)) await remove(one);
  }
}

async function entriesOf(place: string): Promise<readonly Dirent[]> {
  try {
    return await readdir(place, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []; // nothing was ever put there
    throw error;
  }
}
