/** Names that files have while they are written, and what a crash leaves of them. */
import { existsSync } from 'node:fs';
import { open, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

const underWay = new Set<string>();
let count = 0;

/** A name beside `path` that nobody else uses: two writers never meet on it, whatever their generation, thread or process. */
export function temporaryName(path: string): string {
  count += 1;
  const name = `${path}.${process.pid}-${Date.now().toString(36)}${count.toString(36)}.tmp`;
  underWay.add(name);
  return name;
}

export function settled(name: string): void {
  underWay.delete(name);
}

/** Removes what writers that were killed left beside `path`. Whoever still writes keeps its file. Resolves with the names. */
export async function sweepLeftovers(path: string): Promise<readonly string[]> {
  const [folder, base] = [dirname(path), basename(path)];
  const swept: string[] = [];
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    // Not there, or not to be listed by a plugin that may write this one file alone.
    if (error.code === 'ENOENT' || error.code === 'ERR_ACCESS_DENIED') return [];
    throw error;
  });
  for (const name of names) {
    if (!name.startsWith(`${base}.`) || !name.endsWith('.tmp')) continue;
    const middle = name.slice(base.length, -'.tmp'.length);
    const pid = /^(?:\.last-good)?\.(\d+)-[a-z0-9]+$/.exec(middle)?.[1];
    if (pid === undefined && middle !== '') continue; // of another file, whose name begins the same way
    const file = join(folder, name);
    if (underWay.has(file) || (pid !== undefined && isAlive(pid))) continue;
    await rm(file, { force: true, recursive: true });
    swept.push(name);
  }
  return swept;
}

/**
 * Removes from these folders, but not from those within, what writers of processes that are gone left behind, whatever
 * file it was for: its writer may not run any more. A folder that cannot be read is left out.
 */
export async function sweepFolders(folders: readonly string[]): Promise<void> {
  for (const folder of folders)
    for (const name of await readdir(folder).catch(() => [])) {
      const pid = /\.(\d+)-[a-z0-9]+\.tmp$/.exec(name)?.[1];
      if (pid === undefined || underWay.has(join(folder, name)) || isAlive(pid)) continue;
      await rm(join(folder, name), { force: true }).catch(() => undefined); // a disk that is read-only keeps it
    }
}

function isAlive(pid: string): boolean {
  return Number(pid) !== process.pid && existsSync(`/proc/${pid}`);
}

/** Makes it durable that a file or folder of this name is there, or is not. */
export async function syncName(path: string): Promise<void> {
  const handle = await open(dirname(path), 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
