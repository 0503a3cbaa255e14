/** An image as somebody has it: an image folder, an archive of one, or a folder with its files as a slot has them. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import {
  differenceOf,
  IMAGE_LIST,
  IMAGE_SIGNATURE,
  type Image,
  ImageError,
  type ImageFile,
  imageHash,
  LONGEST_LIST,
  PIECE,
  parseImage,
} from '@device-core/plugin-api/inside/image';
import { isOneFrame, longestBlob } from '@device-core/plugin-api/inside/image-folder';
import { EXIT, Failure, usage } from '@device-core/plugin-api/program';
import { sha256 } from './list.ts';
import { openArchive } from './unpack-archive.ts';
import { BLOBS, blobOf } from './write.ts';

/** Option of programs for openImage(). */
export const IMAGE = { type: 'string', description: 'folder or archive of an image, or a slot' } as const;

export interface ImageSource extends Disposable {
  /** `folder` and `archive` hold blobs, `files` the files themselves. */
  readonly kind: 'folder' | 'archive' | 'files';
  readonly image: Image;
  /** `sha256:<hex>` */
  readonly hash: string;
  readonly list: Buffer;
  /** Text of `image.sig`; empty where nobody signed. */
  readonly signatures: string;
  /** Content of a file of the list, checked. Throws ImageError. */
  read(file: ImageFile): Buffer;
  /** The first thing that is not as the list has it. */
  difference(): ImageError | undefined;
}

/** Throws a usage error for what is no image, a Failure SYSTEM_IMAGE_INVALID for one that cannot be read. */
export function openImage(path: string): ImageSource {
  const place = resolve(path);
  if (!existsSync(place)) throw usage(`there is no image ${path}`);
  try {
    if (!statSync(place).isDirectory()) return archive(place);
    if (!existsSync(join(place, IMAGE_LIST))) throw usage(`${path} is no image: it has no ${IMAGE_LIST}`);
    return existsSync(join(place, BLOBS)) ? folder(place) : files(place);
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw invalid(path, error as Error);
  }
}

export const invalid = (path: string, error: Error): Failure =>
  new Failure(EXIT.answered, 'SYSTEM_IMAGE_INVALID', `${path}: ${error.message}`);

function read(list: Buffer, signatures: string): Pick<ImageSource, 'image' | 'hash' | 'list' | 'signatures'> {
  return { image: parseImage(list), hash: imageHash(list), list, signatures };
}

function files(place: string): ImageSource {
  const listed = read(bounded(join(place, IMAGE_LIST)), signaturesAt(place));
  return {
    ...listed,
    kind: 'files',
    read: (file) => checked(file, readFileSync(join(place, file.path))),
    difference: () => differenceOf(place, listed.image),
    [Symbol.dispose]: () => undefined,
  };
}

function folder(place: string): ImageSource {
  const listed = read(bounded(join(place, IMAGE_LIST)), signaturesAt(place));
  const blob = (file: ImageFile): Buffer | undefined => {
    const path = join(place, blobOf(file));
    return existsSync(path) ? readFileSync(path) : undefined;
  };
  const names = (): readonly string[] => [
    ...readdirSync(place).filter((name) => name !== BLOBS),
    ...readdirSync(join(place, BLOBS)).map((name) => join(BLOBS, name)),
  ];
  return { ...listed, ...withBlobs('folder', listed.image, blob, names), [Symbol.dispose]: () => undefined };
}

function archive(place: string): ImageSource {
  const { table, read: readAt, [Symbol.dispose]: close } = openArchive(place);
  try {
    const bytesOf = (name: string, most: number): Buffer | undefined => {
      const entry = table.get(name);
      if (entry === undefined) return undefined;
      if (entry.size > most) throw new ImageError('list', `it has more than ${most} bytes`, name);
      return readAt(entry);
    };
    const list = bytesOf(IMAGE_LIST, LONGEST_LIST);
    if (list === undefined) throw new ImageError('list', `the archive has no ${IMAGE_LIST}`);
    const listed = read(list, bytesOf(IMAGE_SIGNATURE, 65_536)?.toString('utf8') ?? '');
    const blob = (file: ImageFile) => bytesOf(blobOf(file), longestBlob(file.size));
    return { ...listed, ...withBlobs('archive', listed.image, blob, () => [...table.keys()]), [Symbol.dispose]: close };
  } catch (error) {
    close();
    throw error;
  }
}

function withBlobs(
  kind: ImageSource['kind'],
  image: Image,
  blob: (file: ImageFile) => Buffer | undefined,
  names: () => readonly string[],
): Pick<ImageSource, 'kind' | 'read' | 'difference'> {
  const content = (file: ImageFile): Buffer => {
    const packed = blob(file);
    if (packed === undefined) throw new ImageError('file', 'its blob is missing', file.path);
    if (packed.length > longestBlob(file.size))
      throw new ImageError('file', 'its blob is larger than itself', file.path);
    let bytes: Buffer;
    try {
      // One that unpacks to more than the list says is not unpacked.
      bytes = zstdDecompressSync(packed, { maxOutputLength: Math.max(1, file.size) });
    } catch (error) {
      throw new ImageError('file', `its blob cannot be unpacked: ${(error as Error).message}`, file.path);
    }
    if (!isOneFrame(packed)) throw new ImageError('file', 'its blob goes on behind its zstd frame', file.path);
    return checked(file, bytes);
  };
  return {
    kind,
    read: content,
    difference() {
      try {
        const left = new Set(names());
        for (const name of [IMAGE_LIST, IMAGE_SIGNATURE]) left.delete(name);
        for (const file of image.files) {
          content(file);
          left.delete(blobOf(file));
        }
        const [more] = left;
        return more === undefined ? undefined : new ImageError('file', 'the list does not name it', more);
      } catch (error) {
        return error instanceof ImageError ? error : new ImageError('file', (error as Error).message);
      }
    },
  };
}

function checked(file: ImageFile, bytes: Buffer): Buffer {
  const { path, size, pieces } = file;
  if (bytes.length !== size) throw new ImageError('file', `it has ${bytes.length} bytes, not ${size}`, path);
  if (sha256(bytes) !== file.sha256) throw new ImageError('file', 'it has another content', path);
  const wrong = pieces?.findIndex((one, index) => sha256(bytes.subarray(index * PIECE, (index + 1) * PIECE)) !== one);
  if (wrong !== undefined && wrong >= 0) throw new ImageError('file', `piece ${wrong} of the list is another`, path);
  return bytes;
}

function bounded(path: string): Buffer {
  if (statSync(path).size > LONGEST_LIST) throw new ImageError('list', `the list has more than ${LONGEST_LIST} bytes`);
  return readFileSync(path);
}

function signaturesAt(place: string): string {
  const path = join(place, IMAGE_SIGNATURE);
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}
