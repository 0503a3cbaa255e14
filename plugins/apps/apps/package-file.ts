/** A file of the package of an app, for whoever shows it: never one that lies elsewhere. */
import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { isAbsolute, join, sep } from 'node:path';
import { CoreError } from '@device-core/plugin-api';

/** Throws PARAMS_INVALID: a path out of the folder, a link that leads there, no file, more than `limit` bytes. */
export async function packageFile(folder: string, path: string, limit: number): Promise<Uint8Array> {
  const refuse = (reason: string) => new CoreError('PARAMS_INVALID', { where: path, reason });
  if (path.includes('\0') || isAbsolute(path) || path.split(/[\\/]/).includes('..'))
    throw refuse('it leads out of the package');
  try {
    const root = await realpath(folder);
    const real = await realpath(join(root, path));
    if (!real.startsWith(root + sep)) throw refuse('it leads out of the package');
    // A path that has become a link is not followed, and a pipe does not block.
    await using file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const { size } = await (async () => {
      const stat = await file.stat();
      if (!stat.isFile()) throw refuse('it is no file');
      return stat;
    })();
    if (size > limit) throw refuse(`it has ${size} bytes, ${limit} are the limit`);
    const bytes = Buffer.alloc(size);
    const { bytesRead } = await file.read(bytes, 0, size, 0);
    return bytes.subarray(0, bytesRead);
  } catch (thrown) {
    if (thrown instanceof CoreError) throw thrown;
    throw refuse('there is no such file in the package');
  }
}
