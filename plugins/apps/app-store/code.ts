/** The code of installed apps below `<var>/app-store/<id>`: put there once, never changed, removed when nothing names it. */
import { chmod, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolder, removeUnnamed, replaceFile, storageError, syncName } from '@device-core/plugin-api/durable';
import { versionFolder } from '@device-core/plugin-api/inside/installed';
import type { Tree, TreeLimits } from '@device-core/plugin-api/inside/packages';
import { type AppVersion, type Installed, PASSAGE, versionsOf } from './installed.ts';

/** Packages that wait to be installed. */
export const UPLOADS = '.uploads';
/** Files that are written to the disk side by side. */
const AT_ONCE = 16;

export class AppCode {
  /** `<var>/app-store`. */
  readonly #place: string;
  readonly #limits: TreeLimits;
  /** Paths that no entry names yet, by the change that will. */
  readonly #spared = new Map<string, readonly string[]>();

  constructor(place: string, limits: TreeLimits) {
    this.#place = place;
    this.#limits = limits;
  }

  get staging(): string {
    return join(this.#place, '.staging');
  }

  folderOf(id: string, version: Pick<AppVersion, 'version' | 'hash'>): string {
    return join(this.#place, id, versionFolder(version));
  }

  /** What a sweep leaves there for this change; nothing more with an empty list. */
  spare(change: string, paths: readonly string[]): void {
    if (paths.length === 0) this.#spared.delete(change);
    else this.#spared.set(change, paths);
  }

  /** Code and list of a version. */
  pathsOf(id: string, version: AppVersion): readonly string[] {
    const folder = this.folderOf(id, version);
    return [dirname(folder), folder, `${folder}.sha256`];
  }

  /** Moves unpacked files to where they stay, read-only and on the disk. Whatever else lies there under the same name is not whole. */
  async keep(id: string, version: AppVersion, from: string, tree: Tree): Promise<void> {
    const target = this.folderOf(id, version);
    try {
      await makeFolder(dirname(target), PASSAGE);
      await replaceFile(`${target}.sha256`, tree.list);
      if (await this.#holds(target, tree)) return;
      const { filesOf } = await import('@device-core/plugin-api/inside/packages');
      await settle(from, await filesOf(from, this.#limits.files));
      await removeTree(target);
      await rename(from, target);
      await chmod(target, 0o555);
      await syncName(target);
    } catch (thrown) {
      throw storageError(target, thrown);
    }
  }

  async #holds(folder: string, { hash }: Tree): Promise<boolean> {
    try {
      if (!(await stat(folder)).isDirectory()) return false;
      const { APP_PACKAGE, filesOf, readTree } = await import('@device-core/plugin-api/inside/packages');
      const files = await filesOf(folder, this.#limits.files);
      return (await readTree(APP_PACKAGE, folder, files, this.#limits.bytes)).hash === hash;
    } catch {
      return false; // it is not there, or something in it is no file
    }
  }

  /** Removes what no entry names: older versions, and what a crash left behind. */
  async sweep({ apps }: Installed): Promise<void> {
    const kept = new Set([...this.#spared.values()].flat());
    for (const [id, app] of Object.entries(apps))
      for (const version of versionsOf(app)) for (const path of this.pathsOf(id, version)) kept.add(path);
    // A folder that lay in the place of the list was set aside beside it.
    const stays = (name: string) => name.startsWith('installed.yaml.corrupt-') || name === UPLOADS;
    await removeUnnamed(this.#place, kept, stays, removeTree);
  }
}

/** Removes a folder that may be read-only. Links in it are removed, not followed. */
export async function removeTree(path: string): Promise<void> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => undefined); // a file, or not there
  if (entries) {
    await chmod(path, 0o700);
    for (const entry of entries) if (entry.isDirectory()) await removeTree(join(path, entry.name));
  }
  await rm(path, { recursive: true, force: true });
}

/** Read-only, and on the disk: files first, then the folders that name them. The top stays writable, for it is still to be moved. */
async function settle(folder: string, files: readonly string[]): Promise<void> {
  const waiting = [...files];
  const work = async () => {
    for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) await seal(join(folder, file));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const folders = new Set<string>();
  for (const file of files)
    for (let below = dirname(file); below !== '.'; below = dirname(below)) folders.add(join(folder, below));
  for (const below of folders) {
    await chmod(below, 0o555);
    await sync(below);
  }
  await sync(folder);
}

async function seal(file: string): Promise<void> {
  await using handle = await open(file, 'r');
  const { mode } = await handle.stat();
  await handle.chmod(mode & 0o100 ? 0o555 : 0o444);
  await handle.sync();
}

async function sync(path: string): Promise<void> {
  await using handle = await open(path, 'r');
  await handle.sync();
}
