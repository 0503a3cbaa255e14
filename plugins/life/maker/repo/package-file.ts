/** A package of an app or a plugin as its author made it, held against what devices ask of it before they run anything. */
import { constants } from 'node:fs';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CoreError, reasonOf } from '@device-core/plugin-api';
import { makeFolder, replaceFile } from '@device-core/plugin-api/durable';
import {
  APP_PACKAGE,
  filesOf,
  type PackageNoun,
  PLUGIN_PACKAGE,
  readSignature,
  readTree,
  type Tree,
  unpack,
  verifyTree,
} from '@device-core/plugin-api/inside/packages';
import { type PackageManifest, readManifest } from './package-manifest.ts';

/** The most that a device can be told to take. */
const LIMITS = { files: 100_000, bytes: 1 << 30 };
const KINDS = { app: APP_PACKAGE, plugin: PLUGIN_PACKAGE } as const;

export interface CheckedPackage {
  readonly bytes: Buffer;
  readonly manifest: PackageManifest;
  readonly tree: Tree;
  /** Fingerprint of the key that signed it. */
  readonly signer: string;
}

/**
 * `signers`: Ed25519 public keys, PEM, one of which signed it. Throws PACKAGE_INVALID, MANIFEST_INVALID,
 * CAPABILITY_UNKNOWN, API_VERSION_MISMATCH, SIGNATURE_INVALID, PARAMS_INVALID.
 */
export async function readPackage(
  noun: PackageNoun,
  file: string,
  signers: readonly string[],
): Promise<CheckedPackage> {
  const kind = KINDS[noun];
  const refuse = (reason: string) => new CoreError('PACKAGE_INVALID', { source: file, reason });
  const bytes = await bytesOf(file, refuse);
  const place = await mkdtemp(join(tmpdir(), 'dc-package-'));
  try {
    // The offered bytes are the checked ones, even if the file is written meanwhile.
    const [copy, folder] = [join(place, 'package'), join(place, 'files')];
    await replaceFile(copy, bytes, { sync: false });
    await makeFolder(folder);
    await unpack(copy, folder, LIMITS, new AbortController().signal).catch((thrown) => {
      throw thrown instanceof CoreError && thrown.code === 'PACKAGE_INVALID'
        ? refuse(String(thrown.details.reason))
        : thrown;
    });
    const tree = await readTree(kind, folder, await filesOf(folder, LIMITS.files), LIMITS.bytes);
    if (!tree.files.has(kind.manifest)) throw refuse(`there is no ${kind.manifest} at its top`);
    const manifest = await readManifest(noun, join(folder, kind.manifest));
    const main = manifest.main;
    if (main !== undefined && !tree.files.has(main))
      throw refuse(`it has no ${main}, which its manifest names as main`);
    const signature = await readSignature(kind, manifest.id, folder);
    const signer = verifyTree(kind, manifest.id, tree.hash, signature, signers);
    return { bytes, manifest, tree, signer };
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

async function bytesOf(file: string, refuse: (reason: string) => CoreError): Promise<Buffer> {
  try {
    await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const found = await handle.stat();
    if (!found.isFile()) throw refuse('it is no file');
    if (found.size > LIMITS.bytes) throw refuse(`it has more than ${LIMITS.bytes} bytes`);
    return await handle.readFile();
  } catch (thrown) {
    throw thrown instanceof CoreError ? thrown : refuse(`it cannot be read: ${reasonOf(thrown)}`);
  }
}

/** PEM of each file. Throws PARAMS_INVALID. */
export function keysOf(files: readonly string[]): Promise<readonly string[]> {
  return Promise.all(
    files.map((file) =>
      readFile(file, 'utf8').catch((thrown) => {
        throw new CoreError('PARAMS_INVALID', { where: 'signers', reason: `${file}: ${reasonOf(thrown)}` });
      }),
    ),
  );
}
