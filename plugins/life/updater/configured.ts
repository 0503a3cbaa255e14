/** The repository that the configuration of this device names. */
import { join, resolve } from 'node:path';
import { platformHere } from '@device-core/plugin-api/inside/image';
import type { Parts } from './parts.ts';
import { openRepository } from './repository/index.ts';
import type { KnownTime, PackageSource } from './repository.ts';

/** Default file of the first root, below `<etc>`. */
const ROOT = 'update-root.json';

export function repositoryOf(parts: Parts, url: string): PackageSource {
  const { scope, log, folder, device, config } = parts;
  const { answerMs, leastBytesPerSecond, root = ROOT } = config;
  return openRepository({
    url,
    sku: device.sku.id,
    platform: platformHere(),
    folder: join(folder, 'tuf'),
    scope,
    log,
    root: resolve(device.paths.etc, root),
    time: () => knownTime(parts),
    answerMs,
    leastBytesPerSecond,
  });
}

/** A device that nobody tells about its clock does not take it for set. */
async function knownTime({ clock, senses, services: { slots } }: Parts): Promise<KnownTime> {
  const floor = (await slots?.status())?.floor.time ?? 0;
  return { now: clock.now(), floor: floor * 1000, set: senses.time?.set === true };
}
