/** An image folder: `image.json`, `image.sig`, and each file as a blob of zstd that is named by the hash of what it holds. */
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { constants, zstdCompressSync } from 'node:zlib';
import { IMAGE_LIST, IMAGE_SIGNATURE, type ImageFile } from '@device-core/plugin-api/inside/image';
import type { Contents, ImageList } from './list.ts';

export const BLOBS = 'blobs';
/** Path of the blob of a file below an image folder. */
export const blobOf = ({ sha256 }: Pick<ImageFile, 'sha256'>): string => join(BLOBS, `${sha256}.zst`);

export interface WriteOptions {
  /** Folder of blobs that former builds made: Node alone takes longer than all the rest. */
  readonly cache?: string;
  /** Level of zstd, 1 to 19. */
  readonly level?: number;
}

/** Written beside its place and moved there whole; what lay there before is gone then. */
export function writeImage(
  folder: string,
  contents: Contents,
  { image, bytes }: Pick<ImageList, 'image' | 'bytes'>,
  signatures: string,
  { cache, level = 6 }: WriteOptions = {},
): void {
  const beside = `${folder}.new`;
  rmSync(beside, { recursive: true, force: true });
  mkdirSync(join(beside, BLOBS), { recursive: true });
  writeFileSync(join(beside, IMAGE_LIST), bytes);
  writeFileSync(join(beside, IMAGE_SIGNATURE), signatures);
  for (const file of image.files) {
    const to = join(beside, blobOf(file));
    if (existsSync(to)) continue; // two files of one content
    const kept = cache === undefined ? undefined : join(cache, String(level), blobOf(file));
    if (kept !== undefined && existsSync(kept)) writeFileSync(to, readFileSync(kept));
    else {
      const blob = compressed(contents.get(file.path)!.bytes(), level);
      writeFileSync(to, blob);
      if (kept !== undefined && file.pieces !== undefined) keep(kept, blob);
    }
  }
  rmSync(folder, { recursive: true, force: true });
  renameSync(beside, folder);
}

/** With its size and a checksum, so that whoever takes it apart knows how much it will be. */
const compressed = (bytes: Uint8Array, level: number): Buffer =>
  zstdCompressSync(bytes, {
    params: { [constants.ZSTD_c_compressionLevel]: level, [constants.ZSTD_c_checksumFlag]: 1 },
    pledgedSrcSize: bytes.length,
  });

function keep(path: string, blob: Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true });
  const beside = `${path}.${process.pid}`;
  writeFileSync(beside, blob);
  renameSync(beside, path);
}

/** Files as they lie in a slot. */
export function unpack(contents: Contents, folder: string): void {
  for (const [path, { mode, bytes }] of contents) {
    const to = join(folder, path);
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, bytes());
    chmodSync(to, mode);
  }
}
