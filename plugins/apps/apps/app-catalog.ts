import { readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type AppManifest, CoreError, reasonOf, toCoreError } from '@device-core/plugin-api';
import type { AppManifestReader } from './app-manifest.ts';

export const MANIFEST = 'app.yaml';

export interface FoundApp {
  readonly folder: string;
  readonly manifest: AppManifest;
  /** The manifest as it stands in the file: another text is another app. */
  readonly text: string;
}

/** A folder whose app cannot be used, with everything that could be learnt of it. */
export interface BadApp {
  readonly folder: string;
  /** The folder's name: ids that are not sure to be valid are not used. */
  readonly id: string;
  readonly error: CoreError;
}

export interface Catalog {
  readonly apps: readonly FoundApp[];
  readonly bad: readonly BadApp[];
}

/**
 * The apps that are there: those of the named folders first, then the installed ones, `<installed>/<id>/app.yaml`. Where two have the same id or name the
 * first one counts, so that a developer's folder stands before the installed app.
 */
export async function scanApps(
  folders: readonly string[],
  installed: string,
  reader: AppManifestReader,
): Promise<Catalog> {
  const apps: FoundApp[] = [];
  const bad: BadApp[] = [];
  const candidates = [
    ...folders.map((folder) => ({ folder, expected: undefined })),
    ...(await installedFolders(installed)).map((folder) => ({ folder, expected: basename(folder) })),
  ];
  for (const { folder, expected } of candidates) {
    const file = join(folder, MANIFEST);
    try {
      const { manifest, text } = await reader.read(file);
      const { id, name } = manifest;
      const clash = apps.find((app) => app.manifest.id === id || app.manifest.name === name);
      if (clash) {
        const same = clash.manifest.id === id ? `id ${id}` : `name ${name}`;
        throw new CoreError('MANIFEST_INVALID', { file, reason: `${clash.folder} has the same ${same}` });
      }
      if (expected !== undefined && expected !== id)
        throw new CoreError('MANIFEST_INVALID', { file, reason: `its folder must be named ${id}, not ${expected}` });
      apps.push({ folder, manifest, text });
    } catch (thrown) {
      bad.push({ folder, id: basename(folder), error: toCoreError(thrown, `reading ${file}`) });
    }
  }
  return { apps, bad };
}

/** Folders that hold a manifest; a folder of an app's data alone is none. */
async function installedFolders(installed: string): Promise<readonly string[]> {
  let names: string[];
  try {
    names = await readdir(installed);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw new CoreError('STATE_CORRUPT', { file: installed, reason: reasonOf(thrown) });
  }
  const folders = await Promise.all(
    names.toSorted().map(async (name) => {
      const folder = join(installed, name);
      const there = await stat(join(folder, MANIFEST)).then(
        (info) => info.isFile(),
        () => false,
      );
      return there ? [folder] : [];
    }),
  );
  return folders.flat();
}
