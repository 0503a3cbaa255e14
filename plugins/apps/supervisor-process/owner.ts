import { lchown, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Gives files to the user of a guest; nothing where it has none of its own. What is not there has no owner. */
export async function ownedBy(uid: number | undefined, ...files: readonly string[]): Promise<void> {
  if (uid === undefined) return;
  for (const file of files) {
    await lchown(file, uid, uid).catch((thrown: NodeJS.ErrnoException) => {
      if (thrown.code !== 'ENOENT') throw thrown;
    });
  }
}

/**
 * Gives a folder with all that lies in it, where it is not the guest's yet: its files are from a time when it had no
 * user of its own. A file with a second name elsewhere stays as it is, for that may be anybody's.
 */
export async function ownTree(uid: number | undefined, folder: string): Promise<void> {
  if (uid === undefined || (await lstat(folder)).uid === uid) return;
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await ownTree(uid, path);
    else if ((await lstat(path)).nlink === 1) await lchown(path, uid, uid);
  }
  // Last, so that a Core that was killed on the way begins again.
  await lchown(folder, uid, uid);
}
