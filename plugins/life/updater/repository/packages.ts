/** Packages that a channel names, as far as its role may name them, and the measure of a fetched file. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { storageError } from '@device-core/plugin-api/durable';
import { PACKAGE_OFFERS, type PackageNoun, packageOffer } from '@device-core/plugin-api/inside/packages';
import type { OfferedPackage } from '../repository.ts';
import type { Channel } from './look.ts';

/** Targets that are no packages, or that contradict their path, are left out: they cannot be ordered. */
export async function packagesIn(noun: PackageNoun, { paths, target }: Channel): Promise<readonly OfferedPackage[]> {
  const { channel } = PACKAGE_OFFERS[noun];
  const found: OfferedPackage[] = [];
  for (const path of paths) {
    if (!path.startsWith(`${channel}/`)) continue;
    // Asked from the top: another role may not speak for it, nor this one for what is not its own.
    const one = await target(path);
    const offer = one && packageOffer(noun, path, one.custom);
    const sha256 = one?.hashes.sha256;
    if (!one || !offer || sha256 === undefined || !/^[0-9a-f]{64}$/.test(sha256)) continue;
    found.push({ ...offer, noun, path, bytes: one.length, sha256 });
  }
  return found;
}

/** Throws the codes of a disk, and the reason of the signal. */
export async function measured(
  file: string,
  signal: AbortSignal,
): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const hash = createHash('sha256');
  let bytes = 0;
  try {
    for await (const chunk of createReadStream(file, { signal })) {
      bytes += (chunk as Buffer).length;
      hash.update(chunk as Buffer);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw storageError(file, error);
  }
  return { bytes, sha256: hash.digest('hex') };
}
