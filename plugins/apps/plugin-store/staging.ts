/** Brings a package into a folder of the store: from a folder or a tarball on this device. Nothing is fetched. */
import { constants as fs } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { CoreError } from '@device-core/plugin-api';
import { packedFilesOf, type TreeLimits } from '@device-core/plugin-api/inside/packages';
import { type SourceKind, type Staging, stagePackage } from '../shared/package-store/staging.ts';

const SOURCE: SourceKind = { name: /\.(tgz|tar\.gz)$/, refusal: 'it is neither a folder nor a .tgz', copy };

/** Throws PACKAGE_INVALID; what was written by then stays there. */
export const stage = (staging: Staging): Promise<void> => stagePackage(SOURCE, staging);

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
