/** The files of installed versions, below the folder of a store: put there once, never changed, removed when no entry names them. */
import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolder, removeUnnamed, replaceFile, storageError } from '@device-core/plugin-api/durable';
import { versionFolder } from '@device-core/plugin-api/inside/installed';
import type { PackageKind, Tree, TreeLimits } from '@device-core/plugin-api/inside/packages';

/** Packages that wait to be checked. */
const STAGING = '.staging';

type Version = Parameters<typeof versionFolder>[0];

/** Differences between the files of apps and those of plugins. */
export interface FilesKind<E> {
  readonly format: 'APP_PACKAGE' | 'PLUGIN_PACKAGE';
  /** Mode of the folder of a package. */
  readonly mode?: number;
  /** A folder that every sweep leaves there. */
  readonly beside?: string;
  /** The signature of what lies there counts at each start: the same files come anew with another one. */
  readonly signatureCounts: boolean;
  /** Every version whose files are needed. */
  versionsOf(entry: E): readonly Version[];
  /** Puts a folder with these files where it stays, in the place of whatever lay there. Durable when it resolves. */
  move(from: string, to: string, files: readonly string[]): Promise<void>;
  remove?(path: string): Promise<void>;
}

export class VersionFiles<E> {
  readonly #place: string;
  readonly #limits: TreeLimits;
  readonly #kind: FilesKind<E>;
  /** Paths that no entry names yet, by the change that will. */
  readonly #spared = new Map<string, readonly string[]>();

  constructor(place: string, limits: TreeLimits, kind: FilesKind<E>) {
    this.#place = place;
    this.#limits = limits;
    this.#kind = kind;
  }

  get staging(): string {
    return join(this.#place, STAGING);
  }

  folderOf(id: string, version: Version): string {
    return join(this.#place, id, versionFolder(version));
  }

  /** Folders that a sweep leaves there for this change; nothing more with an empty list. */
  spare(change: string, paths: readonly string[]): void {
    if (paths.length === 0) this.#spared.delete(change);
    else this.#spared.set(change, paths);
  }

  /** Folders and list of a version. */
  pathsOf(id: string, version: Version): readonly string[] {
    const folder = this.folderOf(id, version);
    return [dirname(folder), folder, listFile(folder)];
  }

  /**
   * Moves unpacked files to where they stay, and resolves with that folder. What lies there already under the name and
   * is not the same goes.
   */
  async keep(id: string, version: Version, from: string, tree: Tree): Promise<string> {
    const target = this.folderOf(id, version);
    try {
      await makeFolder(dirname(target), this.#kind.mode);
      await replaceFile(listFile(target), tree.list);
      if (await this.#holds(target, tree)) return target;
      const { filesOf } = await import('@device-core/plugin-api/inside/packages');
      await this.#kind.move(from, target, await filesOf(from, this.#limits.files));
      return target;
    } catch (thrown) {
      throw storageError(target, thrown);
    }
  }

  /** Does the folder hold these very files? */
  async #holds(folder: string, { hash }: Tree): Promise<boolean> {
    const packages = await import('@device-core/plugin-api/inside/packages');
    const { format, signatureCounts } = this.#kind;
    const kind: PackageKind = packages[format];
    try {
      if (signatureCounts && (await stat(join(folder, kind.signature)).catch(() => undefined))) return false;
      const files = await packages.filesOf(folder, this.#limits.files);
      return (await packages.readTree(kind, folder, files, this.#limits.bytes)).hash === hash;
    } catch {
      return false; // it is not there, or something in it is no file
    }
  }

  /** Removes what no entry names: older versions, and what a crash left behind. */
  async sweep(entries: Readonly<Record<string, E>>): Promise<void> {
    const { beside, remove, versionsOf } = this.#kind;
    const kept = new Set([...this.#spared.values()].flat());
    for (const [id, entry] of Object.entries(entries))
      for (const version of versionsOf(entry)) for (const path of this.pathsOf(id, version)) kept.add(path);
    // A folder that lay in the place of the list was set aside beside it.
    const stays = (name: string) => name.startsWith('installed.yaml.corrupt-') || name === beside;
    await removeUnnamed(this.#place, kept, stays, remove);
  }
}

/** List of the files of a version, beside its folder. */
export function listFile(folder: string): string {
  return `${folder}.sha256`;
}
