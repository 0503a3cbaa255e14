/** Moves a thing that lies in the place of a file, and does not belong there, to another name. */

import { lstatSync } from 'node:fs';
import { link, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { syncName } from './names.ts';
import { storageError } from './storage-error.ts';

/** So many of one name are kept, the newest. */
const MOST_ASIDE = 3;

/**
 * Gives what lies at `path` another name, for whoever wants to look; `stays`: it keeps its own beside, where the file
 * system can do that.
 */
export async function setAside(path: string, stays = false): Promise<string> {
  const aside = freeName(`${path}.corrupt-${new Date().toISOString().replace(/[:.]/g, '-')}`);
  try {
    const linked =
      stays &&
      (await link(path, aside).then(
        () => true,
        () => false,
      )); // no folder has a second name
    if (!linked) await rename(path, aside);
    await syncName(aside);
  } catch (error) {
    throw storageError(path, error);
  }
  const [folder, base] = [dirname(path), `${basename(path)}.corrupt-`];
  const names = (await readdir(folder)).filter((name) => name.startsWith(base)).sort();
  for (const old of names.slice(0, -MOST_ASIDE)) await rm(join(folder, old), { recursive: true, force: true });
  return aside;
}

/** A file set aside before, by a clock that stood still or was set back, keeps its name. */
function freeName(name: string): string {
  for (let more = 0; ; more++) {
    const free = more === 0 ? name : `${name}-${more}`;
    if (lstatSync(free, { throwIfNoEntry: false }) === undefined) return free;
  }
}
