/**
 * An image as it lies in a folder of a disk: opened with its signatures, known again without being read, and a file of
 * it put right from a twin. For the boot loader, the root helper and the tools; it imports Node alone.
 */
import { createHash } from 'node:crypto';
import {
  closeSync,
  copyFileSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { LOADER } from './boot-record.ts';
import {
  differencesOf,
  fileProblem,
  IMAGE_LIST,
  IMAGE_SIGNATURE,
  type Image,
  ImageError,
  type ImageFile,
  type ImageKeys,
  imageHash,
  LONGEST_LIST,
  type Platform,
  parseImage,
  verifyImage,
} from './image.ts';
import { syncFolder } from './record-file.ts';

export interface Opening {
  readonly keys: ImageKeys;
  readonly platform: Platform;
  /** Seconds since the Unix epoch, at least, for the image of this hash. */
  readonly time: (hash: string) => number;
}

/**
 * Its list, when keys that are trusted signed it, and this device can start it. No file of the list is looked at.
 * Throws ImageError, and what a disk says.
 */
export function openImage(folder: string, { keys, platform, time }: Opening): { image: Image; hash: string } {
  const list = readBounded(join(folder, IMAGE_LIST), LONGEST_LIST);
  const hash = imageHash(list);
  verifyImage(hash, readBounded(join(folder, IMAGE_SIGNATURE), 65_536).toString('utf8'), keys, time(hash));
  const image = parseImage(list);
  checkFit(image, platform);
  return { image, hash };
}

/** Throws ImageError where this device cannot start it: it was built for another platform, or wants a later loader. */
export function checkFit(image: Image, platform: Platform): void {
  const { os, arch, libc } = image.platform;
  if (os !== platform.os || arch !== platform.arch || libc !== platform.libc) {
    const here = `${platform.os} ${platform.arch} ${platform.libc}`;
    throw new ImageError('platform', `it is for ${os} ${arch} ${libc}, and this is ${here}`);
  }
  if (image.minLoader > LOADER)
    throw new ImageError('loader', `it wants loader ${image.minLoader}, and this is loader ${LOADER}`);
}

/** A file that is a file and not too long. */
export function readBounded(path: string, most: number): Buffer {
  const stat = lstatSync(path);
  if (!stat.isFile()) throw new ImageError('list', `${path} is no file`);
  if (stat.size > most) throw new ImageError('list', `${path} has more than ${most} bytes`);
  return readFileSync(path);
}

/** Longest that the blob of a file can be: what zstd makes of bytes that it cannot shorten. */
export const longestBlob = (size: number): number => size + Math.ceil(size / 256) + 128;

/** First bytes of a zstd frame, as a number (RFC 8878, 3.1.1). */
const FRAME = 0xfd2fb528;

/**
 * Is a blob (its bytes, or a file that is open) one zstd frame, and no byte more? zstd stops at the end of a frame, or
 * goes over one without content. So it never says that something follows, which no hash of the list covers. This reads
 * heads alone: it does not tell whether the frame can be unpacked.
 */
export function isOneFrame(blob: Buffer | number): boolean {
  const size = typeof blob === 'number' ? fstatSync(blob).size : blob.length;
  const numberAt = (at: number, length: number): number => {
    const bytes = Buffer.alloc(length);
    if (typeof blob === 'number') readSync(blob, bytes, 0, length, at);
    else blob.copy(bytes, 0, at);
    return bytes.readUIntLE(0, length);
  };
  if (numberAt(0, 4) !== FRAME) return false;
  const head = numberAt(4, 1);
  const single = (head & 0x20) !== 0;
  // A window unless the content is one segment; an id of a dictionary; the size of the content.
  let at = 5 + (single ? 0 : 1) + [0, 1, 2, 4][head & 3]! + [single ? 1 : 0, 2, 4, 8][head >> 6]!;
  for (let last = false; !last; ) {
    if (at + 3 > size) return false;
    const block = numberAt(at, 3);
    last = (block & 1) !== 0;
    const repeats = ((block >> 1) & 3) === 1;
    at += 3 + (repeats ? 1 : block >> 3);
  }
  const checksum = (head & 4) === 0 ? 0 : 4;
  return at + checksum === size;
}

/**
 * Changes when a file or a folder of the image is touched: size, mode, times and inode of each. Bits that fell over and
 * disks that were written elsewhere do not show. Undefined where a file is missing.
 */
export function stampOf(folder: string, image: Image): string | undefined {
  // Nearly all of a second start in a boot is this: no path is built twice, and no number becomes text. Which paths
  // these are the hash of the list says.
  const parent = (path: string): string => path.slice(0, path.lastIndexOf('/'));
  const files = [...image.files.map(({ path }) => path), IMAGE_LIST, IMAGE_SIGNATURE].map(
    (path) => `${folder}/${path}`,
  );
  const folders = new Set([folder]);
  for (const file of files) for (let at = parent(file); !folders.has(at); at = parent(at)) folders.add(at);
  const paths = [...files, ...folders];
  const stamp = new BigInt64Array(paths.length * 5);
  for (const [nth, path] of paths.entries()) {
    const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    if (stat === undefined) return undefined;
    stamp.set([stat.mode, stat.size, stat.mtimeNs, stat.ctimeNs, stat.ino], nth * 5);
  }
  return createHash('sha256').update(stamp).digest('hex');
}

/**
 * A note that the files of an image were read, and are as its list has them: by it the next look at them is quick. `of`
 * is what it holds for, a boot.
 */
export class ReadNote {
  readonly #path: string;
  readonly #of: string;

  constructor(path: string, of: string) {
    this.#path = path;
    this.#of = of;
  }

  textFor(folder: string, image: Image, hash: string): string {
    return `${this.#of} ${hash} ${stampOf(folder, image)}\n`;
  }

  says(text: string): boolean {
    try {
      return readBounded(this.#path, 1024).toString('utf8') === text;
    } catch {
      // Without a note that can be read the files are read, which is always right.
      return false;
    }
  }

  /** Returns the reason of a failed write: then the files are read once more. */
  write(text: string): string | undefined {
    try {
      writeFileSync(`${this.#path}.new`, text);
      renameSync(`${this.#path}.new`, this.#path);
      return undefined;
    } catch (error) {
      return `the next start reads all files again: ${(error as Error).message}`;
    }
  }
}

/** Files of one image that are put right, and no more: a disk that loses more is no place to start from. */
const MOST_REPAIRS = 64;

/**
 * Reads all files, and puts right from a twin what it can: their paths. After that all are read once more, for the
 * first look may have ended at what was wrong. Throws the first difference that stays.
 */
export function mendImage(folder: string, image: Image, twin: string, beside: string): readonly string[] {
  const mended: string[] = [];
  for (let before = -1; before !== mended.length; ) {
    before = mended.length;
    for (const difference of differencesOf(folder, image)) {
      const file = image.files.find(({ path }) => path === difference.path);
      if (file === undefined || mended.length === MOST_REPAIRS) throw difference;
      if (!putRight(folder, file, twin, beside)) throw difference;
      mended.push(file.path);
    }
  }
  return mended;
}

/**
 * Takes a file from a twin with the same content; beside its place first, so that a cut leaves the former one. `beside`
 * is an unused folder of the same disk. False where the twin differs.
 */
function putRight(folder: string, file: ImageFile, twin: string, beside: string): boolean {
  if (fileProblem(twin, file) !== undefined) return false;
  const fresh = join(beside, file.path);
  const to = join(folder, file.path);
  try {
    mkdirSync(dirname(fresh), { recursive: true });
    copyFileSync(join(twin, file.path), fresh);
    const handle = openSync(fresh, 'r');
    fsyncSync(handle);
    closeSync(handle);
    // The copy is read again: the twin may have changed since it was checked.
    if (fileProblem(beside, file) !== undefined) return false;
    mkdirSync(dirname(to), { recursive: true });
    renameSync(fresh, to);
    syncFolder(dirname(to));
    return true;
  } finally {
    rmSync(beside, { recursive: true, force: true });
  }
}
