/** Images of a repository, by their lists. */

import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { maybe } from '@device-core/plugin-api';
import {
  IMAGE_LIST,
  IMAGE_SIGNATURE,
  type Image,
  ImageError,
  imageHash,
  parseImage,
} from '@device-core/plugin-api/inside/image';
import { isOneFrame } from '@device-core/plugin-api/inside/image-folder';
import { EXIT, Failure, usage } from '@device-core/plugin-api/program';
import type { RepositoryFolder } from './folder.ts';
import type { TargetEntry, TargetsSigned } from './metadata.ts';

/** As much as is signed by whoever takes the image into a channel. */
export interface ImageCustom {
  readonly sku: string;
  readonly version: string;
  /** `sha256:<hex>` of the list. */
  readonly image: string;
  /** Seconds since the Unix epoch. */
  readonly publishedAt: number;
  /** Percent of all devices; all where absent. */
  readonly rollout?: number;
  /** Why nobody is to take it any more. */
  readonly withdrawn?: string;
}

export const LIST_TARGET = 'image.json.zst';
export const BLOBS_TARGET = 'blobs.json';
const SAFE = /^[A-Za-z0-9][A-Za-z0-9.+_-]*$/;
const LEVEL = { params: { [constants.ZSTD_c_compressionLevel]: 19 } };

export interface NewImage {
  readonly folder: string;
  readonly channel: string;
  /** Seconds since the Unix epoch. */
  readonly publishedAt: number;
  readonly rollout?: number | undefined;
}

export interface AddedImage {
  readonly image: Image;
  readonly hash: string;
  /** Below the channel. */
  readonly place: string;
  /** Bytes of the blobs that the repository did not have. */
  readonly fresh: number;
  readonly blobs: number;
  readonly change: (role: TargetsSigned) => TargetsSigned;
}

/** Puts the files of an image in their places, where nobody sees them before the channel names them. Throws a Failure. */
export async function addImage(
  repository: RepositoryFolder,
  role: TargetsSigned,
  wanted: NewImage,
): Promise<AddedImage> {
  const { folder, channel, publishedAt, rollout } = wanted;
  const list = readPart(folder, IMAGE_LIST);
  const image = parsed(folder, list);
  const hash = imageHash(list);
  const signatures = readPart(folder, IMAGE_SIGNATURE);
  if (signatures.toString('utf8').trim() === '')
    throw usage(`the image in ${folder} is not signed`, 'devicectl keys sign signs it');
  const { os, arch, libc } = image.platform;
  for (const [what, text] of Object.entries({ sku: image.sku, version: image.version, arch }))
    if (!SAFE.test(text)) throw usage(`the ${what} "${text}" cannot be part of an address`);
  const place = `${channel}/${image.sku}/${os}-${arch}-${libc}/${image.version}`;
  const there = role.targets[`${place}/${LIST_TARGET}`]?.custom as ImageCustom | undefined;
  if (there !== undefined && there.image !== hash)
    throw usage(
      `${channel} has another image ${image.sku} ${image.version}`,
      'an offered version stays; raise the version',
    );
  const { sizes, fresh } = await addBlobs(repository, folder, image);
  const custom: ImageCustom = {
    sku: image.sku,
    version: image.version,
    image: hash,
    publishedAt: there?.publishedAt ?? publishedAt,
    ...maybe({ rollout }),
  };
  const targets: Record<string, TargetEntry> = {
    [`${place}/${LIST_TARGET}`]: await repository.addTarget(
      ...([`${place}/${LIST_TARGET}`, zstdCompressSync(list, LEVEL), { ...custom }] as const),
    ),
    [`${place}/${IMAGE_SIGNATURE}`]: await repository.addTarget(`${place}/${IMAGE_SIGNATURE}`, signatures),
    [`${place}/${BLOBS_TARGET}`]: await repository.addTarget(
      ...([`${place}/${BLOBS_TARGET}`, Buffer.from(JSON.stringify({ form: 1, bytes: sizes }))] as const),
    ),
  };
  return {
    image,
    hash,
    place,
    fresh,
    blobs: new Set(image.files.map(({ sha256 }) => sha256)).size,
    change: (before) => ({ ...before, targets: { ...before.targets, ...targets } }),
  };
}

/** Bytes of each file's blob, in the order of the list. A blob that is not its file is never taken. */
async function addBlobs(repository: RepositoryFolder, folder: string, { files }: Image) {
  const sizes: number[] = [];
  let fresh = 0;
  for (const { path, sha256, size } of files) {
    if (!repository.hasBlob(sha256)) {
      const bytes = readPart(folder, join('blobs', `${sha256}.zst`));
      if (!isBlobOf(bytes, sha256, size))
        throw invalid(folder, `the blob of ${path} is not the file that the list names`);
      await repository.addBlob(sha256, bytes);
      fresh += bytes.length;
    }
    sizes.push(statSync(repository.blob(sha256)).size);
  }
  return { sizes, fresh };
}

function isBlobOf(bytes: Buffer, sha256: string, size: number): boolean {
  try {
    const plain = zstdDecompressSync(bytes, { maxOutputLength: Math.max(1, size) });
    return isOneFrame(bytes) && plain.length === size && createHash('sha256').update(plain).digest('hex') === sha256;
  } catch {
    return false; // no zstd, or more than the list says
  }
}

function parsed(folder: string, list: Uint8Array): Image {
  try {
    return parseImage(list);
  } catch (error) {
    if (error instanceof ImageError) throw invalid(folder, error.message);
    throw error;
  }
}

const invalid = (folder: string, reason: string): Failure =>
  new Failure(EXIT.answered, 'SYSTEM_IMAGE_INVALID', `cannot take the image in ${folder}: ${reason}`);

function readPart(folder: string, name: string): Buffer {
  try {
    return readFileSync(join(folder, name));
  } catch (error) {
    throw usage(`the image in ${folder} is not whole: ${(error as Error).message}`);
  }
}

/** Images of a channel. */
export function imagesOf(role: TargetsSigned): readonly (ImageCustom & { readonly place: string })[] {
  return Object.entries(role.targets).flatMap(([path, { custom }]) =>
    path.endsWith(`/${LIST_TARGET}`)
      ? [{ ...(custom as unknown as ImageCustom), place: path.slice(0, -LIST_TARGET.length - 1) }]
      : [],
  );
}
