import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CoreError, reasonOf, toCoreError } from '@device-core/plugin-api';
import type { StoredApp } from '@device-core/plugin-api/inside/services/app-store';
import { compare } from '@device-core/plugin-api/inside/versions';
import type { AppManifest } from '@device-core/plugin-api/services/apps';
import type { AppManifestReader } from './app-manifest.ts';
import type { LastGoodManifests } from './last-good.ts';
import { waitingForThemselves } from './start-order.ts';

export const MANIFEST = 'app.yaml';

export interface FoundApp {
  readonly folder: string;
  readonly manifest: AppManifest;
  /** The manifest as it stands in the file: another text is another app. */
  readonly text: string;
  /** Fault of the present file; manifest and text are the last good ones then. */
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

interface Places {
  /** Trials of developers; they come before all other folders. */
  readonly tried: { readonly apps: readonly Pick<StoredApp, 'id' | 'folder'>[] };
  readonly folders: readonly string[];
  /** `<var>/apps`. */
  readonly installed: string;
  readonly reader: AppManifestReader;
  readonly lastGood: LastGoodManifests;
}

/**
 * The apps that are there: those that are tried, then those of the named folders, then those of the store, then those
 * of `<installed>/<id>/app.yaml`. A named folder stands before an app of the store unless that one is newer: so apps of
 * the image are the floor, and a developer's folder is what runs. Where two have the same id or name otherwise the
 * first one counts. A manifest that cannot be used any more leaves the last good one in force (decisions D7a).
 */
export async function scanApps(places: Places, stored: readonly StoredApp[]): Promise<Catalog> {
  const { folders, installed, reader, lastGood } = places;
  const apps: FoundApp[] = [];
  const bad: BadApp[] = [];
  let again: number | undefined;
  const packages = await readPackages(stored, reader, bad);
  const trials = await readPackages(places.tried.apps, reader, bad);
  const admit = (found: FoundApp, expected: string | undefined) => {
    const { id, name, version } = found.manifest;
    const file = join(found.folder, MANIFEST);
    // The trial of its author lies over it.
    if (trials.has(id)) return;
    const over = packages.get(id);
    if (over && expected === undefined && isNewer(over.manifest.version, version)) return;
    if (expected === undefined) packages.delete(id);
    const clash = apps.find((app) => app.manifest.id === id || app.manifest.name === name);
    if (clash) {
      const same = clash.manifest.id === id ? `id ${id}` : `name ${name}`;
      throw new CoreError('MANIFEST_INVALID', { file, reason: `${clash.folder} has the same ${same}` });
    }
    if (expected !== undefined && expected !== id)
      throw new CoreError('MANIFEST_INVALID', { file, reason: `its folder must be named ${id}, not ${expected}` });
    apps.push(found);
  };
  const attempt = (found: FoundApp, expected: string | undefined) => {
    try {
      admit(found, expected);
    } catch (clash) {
      const { folder, manifest } = found;
      bad.push({ folder, id: expected ?? manifest.id, error: toCoreError(clash, `reading ${folder}`) });
    }
  };
  const look = async (folder: string, expected: string | undefined) => {
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
      if (former) {
        try {
          admit({ folder, ...former, complaint: error }, expected);
        } catch (clash) {
          bad.push({ folder, id: basename(folder), error: toCoreError(clash, `reading ${file}`) });
        }
      }
      // An uninstalled app has no folder, so there is no fault to report.
      else if (there || expected === undefined || (await hasManifest(folder)))
        bad.push({ folder, id: basename(folder), error });
    }
  };
  apps.push(...trials.values());
  for (const folder of folders) await look(folder, undefined);
  for (const [id, found] of packages) attempt(found, id);
  for (const folder of await installedFolders(installed, lastGood)) await look(folder, basename(folder));
  return { ...withoutCircles(apps, bad), again };
}

/** A fault in a package of the store is final: there is no last good manifest to fall back to. */
async function readPackages(
  stored: readonly Pick<StoredApp, 'id' | 'folder'>[],
  reader: AppManifestReader,
  bad: BadApp[],
): Promise<Map<string, FoundApp>> {
  const found = new Map<string, FoundApp>();
  for (const { id, folder } of stored) {
    try {
      found.set(id, { folder, ...(await reader.read(join(folder, MANIFEST))) });
    } catch (thrown) {
      bad.push({ folder, id, error: toCoreError(thrown, `reading ${folder}`) });
    }
  }
  return found;
}

function isNewer(version: string, than: string): boolean {
  return compare(version, than) > 0;
}

/** Apps that wait for themselves cannot start: these are refused, and no others. */
function withoutCircles(apps: readonly FoundApp[], bad: readonly BadApp[]): Pick<Catalog, 'apps' | 'bad'> {
  const circles = waitingForThemselves(apps.map(({ manifest }) => manifest));
  const refused = apps.flatMap(({ folder, manifest: { id } }) => {
    const way = circles.get(id);
    if (!way) return [];
    const reason = `lifecycle.after leads round: ${way.join(' after ')}`;
    return [{ folder, id, error: new CoreError('MANIFEST_INVALID', { file: join(folder, MANIFEST), reason }) }];
  });
  return { apps: apps.filter(({ manifest }) => !circles.has(manifest.id)), bad: [...bad, ...refused] };
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
