import { lchown } from 'node:fs/promises';

/** Gives files to the user of a guest; nothing where it has none of its own. What is not there has no owner. */
export async function ownedBy(uid: number | undefined, ...files: readonly string[]): Promise<void> {
  if (uid === undefined) return;
  for (const file of files) {
    await lchown(file, uid, uid).catch((thrown: NodeJS.ErrnoException) => {
      if (thrown.code !== 'ENOENT') throw thrown;
    });
  }
}
