/** Brings a package into a folder of the store: from this device. Nothing is fetched, and none of its code is run. */
import { constants as fs } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { CoreError, reasonOf } from '@device-core/plugin-api';
import { makeFolder, storageError } from '@device-core/plugin-api/durable';
import {
  filesOf,
  type PackageKind,
  readTree,
  type Tree,
  type TreeLimits,
  unpack,
} from '@device-core/plugin-api/inside/packages';

/** Forms of a package of this kind. */
export interface SourceKind {
  /** Names of files that are taken. */
  readonly name?: RegExp;
  /** Reason for what is refused: `it is no file`. */
  readonly refusal: string;
  /** Copies a folder, where folders are taken. */
  copy?(source: string, folder: string, limits: TreeLimits, signal: AbortSignal): Promise<void>;
}

export interface Staging {
  readonly source: string;
  /** The package comes into it, in the place of whatever is there. */
  readonly folder: string;
  readonly limits: TreeLimits;
  readonly signal: AbortSignal;
}

/** Throws PACKAGE_INVALID and the codes of a disk; what was written by then stays there. */
export async function stagePackage({ name, refusal, copy }: SourceKind, staging: Staging): Promise<void> {
  const { source, folder, limits, signal } = staging;
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
  if (copy && found.isDirectory()) return copy(source, folder, limits, signal);
  if (!found.isFile() || name?.test(source) === false) throw refuse(refusal);
  if (found.size > limits.bytes) throw refuse(`it has more than ${limits.bytes} bytes`);
  await unpack(`/proc/self/fd/${file.fd}`, folder, limits, signal).catch((thrown) => {
    throw thrown instanceof CoreError && thrown.code === 'PACKAGE_INVALID'
      ? refuse(String(thrown.details.reason))
      : thrown;
  });
}

/** The files of an unpacked package, with the manifest among them. Throws PACKAGE_INVALID. */
export async function readPackage(
  kind: PackageKind,
  folder: string,
  source: string,
  limits: TreeLimits,
): Promise<Tree> {
  const tree = await readTree(kind, folder, await filesOf(folder, limits.files), limits.bytes);
  if (tree.files.has(kind.manifest)) return tree;
  throw new CoreError('PACKAGE_INVALID', { source, reason: `there is no ${kind.manifest} at its top` });
}
