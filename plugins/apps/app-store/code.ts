/** The code of installed apps: read-only, so that no app changes it. */
import { chmod, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { moveFolder } from '@device-core/plugin-api/durable';
import type { FilesKind } from '../shared/package-store/version-files.ts';
import { type AppEntry, PASSAGE, versionsOf } from './installed.ts';

/** Packages that wait to be installed. */
export const UPLOADS = '.uploads';

export const APP_FILES: FilesKind<AppEntry> = {
  format: 'APP_PACKAGE',
  mode: PASSAGE,
  beside: UPLOADS,
  signatureCounts: false,
  versionsOf,
  async move(from, to, files) {
    await seal(from, files);
    await removeTree(to);
    await moveFolder(from, to, files);
    await chmod(to, 0o555);
  },
  remove: removeTree,
};

/** Removes a folder that may be read-only. Links in it are removed, not followed. */
export async function removeTree(path: string): Promise<void> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => undefined); // a file, or not there
  if (entries) {
    await chmod(path, 0o700);
    for (const entry of entries) if (entry.isDirectory()) await removeTree(join(path, entry.name));
  }
  await rm(path, { recursive: true, force: true });
}

/** The top stays writable, for it is still to be moved. */
async function seal(folder: string, files: readonly string[]): Promise<void> {
  const folders = new Set<string>();
  for (const file of files) {
    const { mode } = await stat(join(folder, file));
    await chmod(join(folder, file), mode & 0o100 ? 0o555 : 0o444);
    for (let below = dirname(file); below !== '.'; below = dirname(below)) folders.add(join(folder, below));
  }
  for (const below of folders) await chmod(below, 0o555);
  await chmod(folder, 0o755);
}
