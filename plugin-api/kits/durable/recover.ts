/** Recovery of a damaged file: it is kept under another name for inspection, and the good content takes its place. */
import { existsSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { setAside } from './aside.ts';
import { replaceFile } from './replace.ts';

/**
 * Keeps what lies at `path` as `<path>.corrupt-<time>`, and puts `good` there, its last good copy included; without
 * `good` nothing is left there. There is no moment in which a crash would lose both. Resolves with the new name.
 * Rejects with the codes of replaceFile().
 */
export async function recoverFile(path: string, good: string | undefined): Promise<string> {
  const aside = await setAside(path, good !== undefined);
  if (good === undefined) return aside;
  try {
    await replaceFile(path, good, { lastGood: true });
  } catch (error) {
    // A folder had to be moved: the last good copy takes its place without a byte of space.
    if (!existsSync(path)) await rename(`${path}.last-good`, path).catch(() => undefined); // the former error tells
    throw error;
  }
  return aside;
}
