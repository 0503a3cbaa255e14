/** The files of installed versions below `<var>/plugins`: put there once, never changed, removed when no entry names them. */
import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolder, moveFolder, removeUnnamed, replaceFile } from '@device-core/plugin-api/durable';
import {
  type Installed,
  type InstalledVersion,
  versionFolder,
  versionsOf,
} from '@device-core/plugin-api/inside/installed';
import type { Tree, TreeLimits } from '@device-core/plugin-api/inside/packages';
import type { Candidate } from './candidate.ts';
import { listFile } from './trust.ts';

export class VersionFiles {
  readonly #place: string;
  readonly #limits: TreeLimits;
  /** Paths that no entry names yet, by the change that will. */
  readonly #spared = new Map<string, readonly string[]>();

  constructor(place: string, limits: TreeLimits) {
    this.#place = place;
    this.#limits = limits;
  }

  /** What a sweep leaves there for this change; nothing more with an empty list. */
  spare(change: string, paths: readonly string[]): void {
    if (paths.length === 0) this.#spared.delete(change);
    else this.#spared.set(change, paths);
  }

  /** Folders and list of a version. */
  pathsOf(id: string, version: InstalledVersion): readonly string[] {
    const folder = join(this.#place, id);
    return [folder, join(folder, versionFolder(version)), listFile(this.#place, id, version)];
  }

  /** Puts the files where they stay. Whatever else lies there under the same name is not whole, was changed, or is signed anew. */
  async keep({ folder, manifest, tree }: Candidate, entry: InstalledVersion): Promise<string> {
    const target = join(this.#place, manifest.id, versionFolder(entry));
    await makeFolder(dirname(target));
    await replaceFile(listFile(this.#place, manifest.id, entry), tree.list);
    if (!(await this.#holds(target, tree))) await moveFolder(folder, target, tree.files.keys());
    return target;
  }

  /** Does the folder hold these very files? */
  async #holds(folder: string, { hash }: Tree): Promise<boolean> {
    const { filesOf, PLUGIN_PACKAGE, readTree } = await import('@device-core/plugin-api/inside/packages');
    try {
      const signature = await stat(join(folder, PLUGIN_PACKAGE.signature)).catch(() => undefined);
      const files = await filesOf(folder, this.#limits.files);
      return !signature && (await readTree(PLUGIN_PACKAGE, folder, files, this.#limits.bytes)).hash === hash;
    } catch {
      return false; // it is not there, or something in it is no file
    }
  }

  /** Removes what no entry names: older versions, and what a crash left behind. */
  async sweep({ plugins }: Installed): Promise<void> {
    const kept = new Set([...this.#spared.values()].flat());
    for (const [id, plugin] of Object.entries(plugins))
      for (const version of versionsOf(plugin)) for (const path of this.pathsOf(id, version)) kept.add(path);
    // A folder that lay in the place of the list was set aside beside it.
    await removeUnnamed(this.#place, kept, (name) => name.startsWith('installed.yaml.corrupt-'));
  }
}
