import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type AppManifest, CoreError, reasonOf, toCoreError } from '@device-core/plugin-api';
import type { AppManifestReader } from './app-manifest.ts';
import type { LastGoodManifests } from './last-good.ts';

export const MANIFEST = 'app.yaml';

export interface FoundApp {
  readonly folder: string;
  readonly manifest: AppManifest;
  /** The manifest as it stands in the file: another text is another app. */
  readonly text: string;
  /** What is wrong with the file now; manifest and text are the last good ones then. */
  readonly complaint?: CoreError;
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
  /** Milliseconds after which to look again: a manifest may just be replaced. */
  readonly again?: number | undefined;
}

/**
 * The apps that are there: those of the named folders first, then the installed ones, `<installed>/<id>/app.yaml`. Where two have the same id or name the
 * first one counts, so that a developer's folder stands before the installed app. A manifest that cannot be used any more leaves the last good one in
 * force (decisions D7a).
 */
export async function scanApps(
  folders: readonly string[],
  installed: string,
  reader: AppManifestReader,
  lastGood: LastGoodManifests,
): Promise<Catalog> {
  const apps: FoundApp[] = [];
  const bad: BadApp[] = [];
  let again: number | undefined;
  const admit = (found: FoundApp, expected: string | undefined) => {
    const { id, name } = found.manifest;
    const file = join(found.folder, MANIFEST);
    const clash = apps.find((app) => app.manifest.id === id || app.manifest.name === name);
    if (clash) {
      const same = clash.manifest.id === id ? `id ${id}` : `name ${name}`;
      throw new CoreError('MANIFEST_INVALID', { file, reason: `${clash.folder} has the same ${same}` });
    }
    if (expected !== undefined && expected !== id)
      throw new CoreError('MANIFEST_INVALID', { file, reason: `its folder must be named ${id}, not ${expected}` });
    apps.push(found);
  };
  const candidates = [
    ...folders.map((folder) => ({ folder, expected: undefined })),
    ...(await installedFolders(installed, lastGood)).map((folder) => ({ folder, expected: basename(folder) })),
  ];
  for (const { folder, expected } of candidates) {
    const file = join(folder, MANIFEST);
    try {
      const read = await reader.read(file);
      admit({ folder, ...read }, expected);
      await lastGood.keep(read.manifest.id, folder, read.text);
    } catch (thrown) {
      const error = toCoreError(thrown, `reading ${file}`);
      const { there, soon } = await lastGood.stillThere(folder, expected !== undefined);
      if (soon !== undefined) again = soon;
      const former = there ? await lastGood.of(folder) : undefined;
      if (!there) await lastGood.forget(folder);
      try {
        if (former) admit({ folder, ...former, complaint: error }, expected);
        // Of an installed app whose folder has gone nothing is left to complain about.
        else if (there || expected === undefined || (await hasManifest(folder)))
          bad.push({ folder, id: basename(folder), error });
      } catch (clash) {
        bad.push({ folder, id: basename(folder), error: toCoreError(clash, `reading ${file}`) });
      }
    }
  }
  return { apps, bad, again };
}

/** Folders that hold a manifest, or held one that was in use; a folder of an app's data alone is none. */
async function installedFolders(installed: string, lastGood: LastGoodManifests): Promise<readonly string[]> {
  let names: string[];
  try {
    names = await readdir(installed);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw new CoreError('STATE_CORRUPT', { file: installed, reason: reasonOf(thrown) });
  }
  const known = new Set(lastGood.folders());
  const folders = await Promise.all(
    [...new Set([...names.map((name) => join(installed, name)), ...known])]
      .filter((folder) => dirname(folder) === installed)
      .toSorted()
      .map(async (folder) => (known.has(folder) || (await hasManifest(folder)) ? [folder] : [])),
  );
  return folders.flat();
}

function hasManifest(folder: string): Promise<boolean> {
  return stat(join(folder, MANIFEST)).then(
    (info) => info.isFile(),
    () => false,
  );
}
