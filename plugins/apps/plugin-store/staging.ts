/** Brings a package into a folder of the store: from a folder or a tarball on this device. Nothing is fetched. */
import { constants as fs } from 'node:fs';
import { mkdir, open, rm, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { CoreError, reasonOf } from '@device-core/plugin-api';
import { makeFolder, storageError } from '@device-core/plugin-api/durable';
import { packedFilesOf, type TreeLimits, unpack } from '@device-core/plugin-api/inside/packages';

/** Puts the package into this folder, in the place of whatever is there. Throws PACKAGE_INVALID; what was written by then stays there. */
export async function stage(source: string, folder: string, limits: TreeLimits, signal: AbortSignal): Promise<void> {
  const refuse = (reason: string) => new CoreError('PACKAGE_INVALID', { source, reason });
  if (!isAbsolute(source)) throw refuse('it must be an absolute path on the device');
  const found = await stat(source).catch((error) => {
    throw refuse(`it cannot be read: ${reasonOf(error)}`);
  });
  try {
    await rm(folder, { recursive: true, force: true });
  } catch (thrown) {
    throw storageError(folder, thrown);
  }
  await makeFolder(folder);
  if (found.isDirectory()) await copy(source, folder, limits, signal);
  else if (!found.isFile() || !/\.(tgz|tar\.gz)$/.test(source)) throw refuse('it is neither a folder nor a .tgz');
  else if (found.size > limits.bytes) throw refuse(`it has more than ${limits.bytes} bytes`);
  else await unpack(source, folder, limits, signal);
}

/** The files that `npm pack` would take; of node_modules only where something is bundled. */
async function copy(source: string, folder: string, limits: TreeLimits, signal: AbortSignal): Promise<void> {
  let left = limits.bytes;
  for (const path of await packedFilesOf(source, limits.files)) {
    const target = join(folder, path);
    await mkdir(dirname(target), { recursive: true });
    const from = await open(join(source, path), fs.O_RDONLY | fs.O_NOFOLLOW | fs.O_NONBLOCK);
    try {
      const { size, mode } = await from.stat();
      left -= size;
      if (left < 0)
        throw new CoreError('PACKAGE_INVALID', { source, reason: `it has more than ${limits.bytes} bytes` });
      const to = await open(target, 'wx', mode & 0o100 ? 0o755 : 0o644);
      // A file that grows meanwhile does not grow here.
      const end = { ...(size > 0 ? { end: size - 1 } : {}), autoClose: false };
      if (size > 0) await pipeline(from.createReadStream(end), to.createWriteStream(), { signal });
      else await to.close();
    } finally {
      await from.close();
    }
  }
}
