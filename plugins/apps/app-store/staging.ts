/** Brings a package into a folder of the store: from a file on this device. Nothing is fetched, and nothing but a plain file is read. */
import { constants as fs } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { CoreError, reasonOf } from '@device-core/plugin-api';
import { makeFolder, storageError } from '@device-core/plugin-api/durable';
import { APP_PACKAGE, filesOf, readTree, type TreeLimits, unpack } from '@device-core/plugin-api/inside/packages';
import type { AppManifest } from '@device-core/plugin-api/services/apps';
import type { Candidate } from './outcome.ts';

/** Reads and checks the manifest of a folder, as service apps does. */
type Inspect = (folder: string) => Promise<AppManifest>;

/** Unpacks and reads it. Throws PACKAGE_INVALID, MANIFEST_INVALID, CAPABILITY_UNKNOWN; what was written by then stays there. */
export async function stage(
  source: string,
  folder: string,
  limits: TreeLimits,
  inspect: Inspect,
  signal: AbortSignal,
): Promise<Candidate> {
  const refuse = (reason: string) => new CoreError('PACKAGE_INVALID', { source, reason });
  if (!isAbsolute(source)) throw refuse('it must be an absolute path on the device');
  try {
    await rm(folder, { recursive: true, force: true });
  } catch (thrown) {
    throw storageError(folder, thrown);
  }
  await makeFolder(folder);
  // By its handle: whatever takes its name meanwhile is not read.
  await using file = await open(source, fs.O_RDONLY | fs.O_NONBLOCK).catch((thrown) => {
    throw refuse(`it cannot be read: ${reasonOf(thrown)}`);
  });
  const found = await file.stat();
  if (!found.isFile()) throw refuse('it is no file');
  if (found.size > limits.bytes) throw refuse(`it has more than ${limits.bytes} bytes`);
  await unpack(`/proc/self/fd/${file.fd}`, folder, limits, signal).catch((thrown) => {
    throw thrown instanceof CoreError && thrown.code === 'PACKAGE_INVALID'
      ? refuse(String(thrown.details.reason))
      : thrown;
  });
  const tree = await readTree(APP_PACKAGE, folder, await filesOf(folder, limits.files), limits.bytes);
  if (!tree.files.has(APP_PACKAGE.manifest)) throw refuse(`there is no ${APP_PACKAGE.manifest} at its top`);
  return { folder, tree, manifest: await inspected(folder, inspect) };
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
