/**
 * One file of an image into its place: hashed while it is copied, on the disk when it is done. Each difference from the
 * list is an error.
 */
import { createHash, type Hash } from 'node:crypto';
import { fchmodSync, constants as fs, fsyncSync, readSync, rmSync, writeSync } from 'node:fs';
import { pipeline } from 'node:stream';
import { createZstdDecompress, constants as zlib, zstdDecompressSync } from 'node:zlib';
import type { ImageFile } from '../image.ts';
import { isOneFrame } from '../image-folder.ts';
import { Opened, TooLarge } from './plain-files.ts';
import { SlotRefused } from './refused.ts';

/** Files up to this are decompressed in one go: a stream costs more than they do. */
const SMALL = 1 << 20;
/** 16 MiB: what a blob may want of memory while it is decompressed. */
const WINDOW = { [zlib.ZSTD_d_windowLogMax]: 24 };

export interface Copying {
  /** One for all files. */
  readonly buffer: Buffer;
  /** Called with the bytes that are in their place since the last call; throws where it must not go on. */
  readonly moved: (bytes: number) => Promise<void> | undefined;
}

/** A file that is being written, beside what its content must be. */
class Target implements Disposable {
  readonly #file: Opened;
  readonly #entry: ImageFile;
  readonly #hash: Hash = createHash('sha256');
  readonly #path: string;
  #size = 0;

  constructor(path: string, entry: ImageFile) {
    this.#path = path;
    this.#entry = entry;
    this.#file = new Opened(path, fs.O_WRONLY | fs.O_CREAT | fs.O_EXCL | fs.O_NOFOLLOW, entry.mode);
  }

  write(bytes: Uint8Array): void {
    this.#size += bytes.length;
    if (this.#size > this.#entry.size) throw this.#differs(`it has more than ${this.#entry.size} bytes`);
    this.#hash.update(bytes);
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#file.fd, bytes, at, bytes.length - at);
  }

  /** Puts it on the disk, with the mode of the list under any umask. */
  done(): void {
    const { size, sha256, mode } = this.#entry;
    if (this.#size !== size) throw this.#differs(`it has ${this.#size} bytes, not ${size}`);
    if (this.#hash.digest('hex') !== sha256) throw this.#differs('it has another content');
    fchmodSync(this.#file.fd, mode);
    fsyncSync(this.#file.fd);
  }

  /** Removes the useless rest. */
  drop(): void {
    rmSync(this.#path, { force: true });
  }

  #differs(what: string): SlotRefused {
    return new SlotRefused('SYSTEM_IMAGE_INVALID', `${this.#entry.path}: ${what}`);
  }

  [Symbol.dispose](): void {
    this.#file[Symbol.dispose]();
  }
}

/** From a file with the same content, as far as its list says. Throws SYSTEM_IMAGE_INVALID where it has another; nothing is left then. */
export async function copyPlain(
  from: Opened,
  path: string,
  entry: ImageFile,
  { buffer, moved }: Copying,
): Promise<void> {
  using target = new Target(path, entry);
  try {
    for (;;) {
      const count = readInto(buffer, from, entry);
      if (count === 0) break;
      target.write(buffer.subarray(0, count));
      await moved(count);
    }
    target.done();
  } catch (error) {
    target.drop();
    throw error;
  }
}

/** From a blob, never more of it than the list says. Throws SYSTEM_IMAGE_INVALID for one that is no zstd or another content. */
export async function copyBlob(blob: Opened, path: string, entry: ImageFile, { moved }: Copying): Promise<void> {
  using target = new Target(path, entry);
  try {
    if (!isOneFrame(blob.fd))
      throw new SlotRefused('SYSTEM_IMAGE_INVALID', `${entry.path}: its blob is not one zstd frame and no more`);
    for await (const chunk of plainOf(blob, entry)) {
      target.write(chunk);
      await moved(chunk.length);
    }
    target.done();
  } catch (error) {
    target.drop();
    throw isZlib(error)
      ? new SlotRefused('SYSTEM_IMAGE_INVALID', `${entry.path}: its blob cannot be read: ${(error as Error).message}`)
      : error;
  }
}

function plainOf(blob: Opened, { size, path }: ImageFile): Iterable<Uint8Array> | AsyncIterable<Uint8Array> {
  if (size > SMALL) {
    const plain = createZstdDecompress({ params: WINDOW, chunkSize: 1 << 18 });
    // The reader of the stream gets its error; here is nothing left to do.
    pipeline(piecesOf(blob), plain, () => undefined);
    return plain;
  }
  // Incompressible data gain a head, and 3 bytes for each 128 KiB.
  const packed = blob.content(`the blob of ${path}`, size + (size >> 8) + 1_024);
  return [zstdDecompressSync(packed, { params: WINDOW, maxOutputLength: Math.max(1, size) })];
}

function* piecesOf(blob: Opened): Generator<Uint8Array> {
  for (;;) {
    const piece = Buffer.allocUnsafeSlow(1 << 17);
    const count = readSync(blob.fd, piece, 0, piece.length, null);
    if (count === 0) return;
    yield piece.subarray(0, count);
  }
}

/** A disk that does not give a file of the slot that runs back is no disk that cannot be written. */
function readInto(buffer: Buffer, { fd }: Opened, { path }: ImageFile): number {
  try {
    return readSync(fd, buffer, 0, buffer.length, null);
  } catch (error) {
    throw new SlotRefused('SYSTEM_IMAGE_INVALID', `${path}: it cannot be read: ${(error as Error).message}`);
  }
}

const isZlib = (error: unknown): boolean =>
  error instanceof TooLarge || /^(ZSTD_|Z_|ERR_BUFFER_TOO_LARGE)/.test(String((error as NodeJS.ErrnoException).code));
