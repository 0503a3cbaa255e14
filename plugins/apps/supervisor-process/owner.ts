import { lchown, lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreError } from '@device-core/plugin-api';

/** Gives files to the users of guests, and takes them back. A guest without a user of its own has the Core's. */
export interface Owner {
  /** Files in a folder of the Core, which the guest may pass. What is not there has no owner. */
  give(uid: number | undefined, ...files: readonly string[]): Promise<void>;
  /**
   * Gives a folder with all that lies in it, where it is not the guest's yet: its files are from a time when it had no
   * user of its own. A file with a second name elsewhere stays as it is, for that may be anybody's.
   */
  giveTree(uid: number | undefined, folder: string): Promise<void>;
  /** The folder with all of its owner's files becomes the Core's, as far as the Core could not read it. */
  takeTree(folder: string): Promise<void>;
  /** Removes a folder in which files of guests lie. */
  remove(folder: string): Promise<void>;
}

/** A Core that is root gives files itself. One that is not, without a range of users, has none to give. */
export const plainOwner: Owner = {
  async give(uid, ...files) {
    if (uid === undefined) return;
    for (const file of files) await lchown(file, uid, uid).catch(ignoreMissing);
  },
  async giveTree(uid, folder) {
    const owner = (await lstat(folder)).uid;
    if (uid === undefined) return refuseForeign(folder, owner);
    if (owner === uid) return;
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) await plainOwner.giveTree(uid, path);
      else if ((await lstat(path)).nlink === 1) await lchown(path, uid, uid);
    }
    // Last, so that a Core that was killed on the way begins again.
    await lchown(folder, uid, uid);
  },
  async takeTree() {
    // The Core is root, or the files are its own.
  },
  remove: (folder) => rm(folder, { recursive: true, force: true }),
};

/** Files of a user of before, such as a range that the machine gives no more. Root reads them all. */
export function refuseForeign(folder: string, uid: number): void {
  const own = process.geteuid?.();
  if (own === 0 || own === uid) return;
  const reason = `it belongs to user ${uid}, and the Core can take files of no such user`;
  throw new CoreError('UNAVAILABLE', { what: folder, reason });
}

export function ignoreMissing(thrown: NodeJS.ErrnoException): undefined {
  if (thrown.code !== 'ENOENT') throw thrown;
}
