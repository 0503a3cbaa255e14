import { join } from 'node:path';
import { CoreError } from '@device-core/plugin-api';
import { APP_PACKAGE, changeOf, type TreeLimits } from '@device-core/plugin-api/inside/packages';
import type { AppManifest } from '@device-core/plugin-api/services/apps';
import { readPackage, type Staging, stagePackage } from '../shared/package-store/staging.ts';
import type { Candidate } from './outcome.ts';

/** Reads and checks the manifest of a folder, as service apps does. */
type Inspect = (folder: string) => Promise<AppManifest>;

/** Unpacks and reads it. Throws PACKAGE_INVALID, MANIFEST_INVALID, CAPABILITY_UNKNOWN; what was written by then stays there. */
export async function stage(staging: Staging, inspect: Inspect): Promise<Candidate> {
  const { source, folder, limits } = staging;
  await stagePackage({ refusal: 'it is no file' }, staging);
  const tree = await readPackage(APP_PACKAGE, folder, source, limits);
  return { folder, tree, manifest: await inspected(folder, inspect) };
}

/** Throws PACKAGE_INVALID where a process wrote into the folder after it was checked. */
export async function checkUnchanged(source: string, { folder, tree }: Candidate, limits: TreeLimits): Promise<void> {
  const reason = await changeOf(APP_PACKAGE, folder, tree.hash, async () => tree.list, limits);
  if (reason === undefined) return;
  throw new CoreError('PACKAGE_INVALID', { source, reason: `it was changed after it was checked: ${reason}` });
}

/** The folder of the store is nothing that its author knows. */
async function inspected(folder: string, inspect: Inspect): Promise<AppManifest> {
  try {
    return await inspect(folder);
  } catch (thrown) {
    if (!(thrown instanceof CoreError) || thrown.code !== 'MANIFEST_INVALID') throw thrown;
    const file = String(thrown.details.file).replace(join(folder, '/'), '');
    throw new CoreError('MANIFEST_INVALID', { ...thrown.details, file });
  }
}
