/**
 * An image of a device: a list of files, signed as a whole. Builder, boot loader, root helper and tools read it with
 * this one module, so that none of them believes what another would refuse. It imports Node alone: the loader has
 * nothing else.
 */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { closeSync, constants as fs, fstatSync, openSync, readdirSync, readSync } from 'node:fs';

export const IMAGE_LIST = 'image.json';
export const IMAGE_SIGNATURE = 'image.sig';
/** Files above this are hashed in pieces of it, too. */
export const PIECE = 4 << 20;

export interface ImageFile {
  /** Below the folder, `kernel/main.js`. */
  readonly path: string;
  readonly mode: 0o644 | 0o755;
  readonly size: number;
  /** Hex. */
  readonly sha256: string;
  /** Hex, of each 4 MiB of a file that is larger. */
  readonly pieces?: readonly string[];
}

export interface Platform {
  readonly os: 'linux';
  readonly arch: string;
  readonly libc: 'glibc' | 'musl';
}

/** Platform of this machine, as the running Node was built. */
export function platformHere(): Platform {
  // Else it asks for the names of all addresses.
  Object.assign(process.report, { excludeNetwork: true });
  const { header } = process.report.getReport() as { readonly header: { readonly glibcVersionRuntime?: string } };
  return { os: 'linux', arch: process.arch, libc: header.glibcVersionRuntime === undefined ? 'musl' : 'glibc' };
}

export interface Image {
  readonly image: 1;
  readonly sku: string;
  /** Semantic version. */
  readonly version: string;
  readonly platform: Platform;
  /** Seconds since the Unix epoch: of the commit, so that the same commit is the same image. */
  readonly builtAt: number;
  /** The lock: plugin -> version. */
  readonly plugins: Readonly<Record<string, string>>;
  /** Loaders below cannot start it. */
  readonly minLoader: number;
  /** Store -> forms that it reads, and the one that it writes. */
  readonly state: Readonly<Record<string, { readonly reads: readonly number[]; readonly writes: number }>>;
  readonly notes?: string;
  readonly severity: 'normal' | 'security';
  /** Sorted by path. */
  readonly files: readonly ImageFile[];
}

/** Fault of an image, and the file that has it. */
export class ImageError extends Error {
  /** `list`, `signature`, `file`, `platform`, `loader`. */
  readonly part: 'list' | 'signature' | 'file' | 'platform' | 'loader';
  readonly path: string | undefined;

  constructor(part: ImageError['part'], message: string, path?: string) {
    super(path === undefined ? message : `${path}: ${message}`);
    this.name = 'ImageError';
    this.part = part;
    this.path = path;
  }
}

const MOST_FILES = 100_000;
/** Longest list: 100,000 files of 200 bytes, and their pieces. */
export const LONGEST_LIST = 32 << 20;
const MOST_BYTES = 4 * 2 ** 30;
const HEX = /^[0-9a-f]{64}$/;
const CHUNK = 1 << 18;

/** `sha256:<hex>` of the list as it stands in its file: the name of the image. */
export const imageHash = (list: Uint8Array): string => `sha256:${createHash('sha256').update(list).digest('hex')}`;

/** Reads a list. Throws ImageError; what it gives back holds nothing that leads out of its folder. */
export function parseImage(list: Uint8Array): Image {
  if (list.length > LONGEST_LIST) throw new ImageError('list', `the list has more than ${LONGEST_LIST} bytes`);
  let value: Partial<Image> & { readonly image?: unknown };
  try {
    value = Object(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(list)));
  } catch (error) {
    throw new ImageError('list', `the list cannot be read: ${(error as Error).message}`);
  }
  if (value.image !== 1) throw new ImageError('list', `form ${String(value.image)} of the list is not known here`);
  const wrong = Object.entries(MEMBERS).find(([name, good]) => !good((value as Record<string, unknown>)[name]));
  if (wrong !== undefined) throw new ImageError('list', `member ${wrong[0]} is missing or wrong`);
  checkFiles(value.files as readonly ImageFile[]);
  return value as Image;
}

export const isImageVersion = (text: string): boolean => /^\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/.test(text);
const isText = (value: unknown): boolean => typeof value === 'string' && value.length > 0 && value.length <= 200;
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const isRecord = (value: unknown, good: (one: unknown) => boolean): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every(good);
const MEMBERS: Readonly<Record<string, (value: unknown) => boolean>> = {
  sku: isText,
  version: (value) => isText(value) && isImageVersion(value as string),
  platform: (value) => {
    const { os, arch, libc } = Object(value) as Partial<Platform>;
    return os === 'linux' && isText(arch) && (libc === 'glibc' || libc === 'musl');
  },
  builtAt: isCount,
  plugins: (value) => isRecord(value, isText),
  minLoader: isCount,
  state: (value) =>
    isRecord(value, (one) => {
      const { reads, writes } = Object(one);
      return isCount(writes) && Array.isArray(reads) && reads.every(isCount);
    }),
  notes: (value) => value === undefined || (typeof value === 'string' && value.length <= 16_384),
  severity: (value) => value === 'normal' || value === 'security',
  files: (value) => Array.isArray(value) && value.length > 0 && value.length <= MOST_FILES,
};

function checkFiles(files: readonly ImageFile[]): void {
  let before = '';
  let bytes = 0;
  /** Folded, as some file systems do: two names there are one file. */
  const folded = new Set<string>();
  for (const file of files) {
    const { path, mode, size, sha256, pieces } = Object(file) as Partial<ImageFile>;
    if (typeof path !== 'string') throw new ImageError('list', 'a file has no path');
    const problem = pathReason(path);
    if (problem !== undefined) throw new ImageError('list', problem, path);
    if (path <= before) throw new ImageError('list', 'it stands twice, or not in its order', path);
    before = path;
    const twin = path.toLowerCase();
    if (folded.has(twin)) throw new ImageError('list', 'another path differs from it by case or accents alone', path);
    folded.add(twin);
    if (mode !== 0o644 && mode !== 0o755) throw new ImageError('list', `its mode is ${String(mode)}`, path);
    if (!isCount(size)) throw new ImageError('list', 'it has no size', path);
    if (typeof sha256 !== 'string' || !HEX.test(sha256)) throw new ImageError('list', 'it has no SHA-256', path);
    const wanted = size > PIECE ? Math.ceil(size / PIECE) : 0;
    if (!isPieces(pieces ?? [], wanted))
      throw new ImageError('list', `it has ${wanted} pieces, and the list names others`, path);
    bytes += size;
    if (bytes > MOST_BYTES) throw new ImageError('list', `the files have more than ${MOST_BYTES} bytes`);
  }
}

const isPieces = (pieces: unknown, count: number): boolean =>
  Array.isArray(pieces) && pieces.length === count && pieces.every((one) => typeof one === 'string' && HEX.test(one));

/** Nearly all paths: no control character in them, and nothing to put into a normal form. */
const PLAIN = /^[\w@.+/-]*$/;

/** Why no file of an image can be at this path. */
function pathReason(path: string): string | undefined {
  if (path.length > 255) return 'its path has more than 255 characters';
  if (!PLAIN.test(path)) {
    if (/[\p{Cc}\\]/u.test(path)) return 'its path has a control character or a backslash';
    if (path !== path.normalize('NFC')) return 'its path is not in the normal form of Unicode';
  }
  const parts = path.split('/');
  if (parts.some((part) => part === '' || part === '.' || part === '..')) return 'its path leads elsewhere';
  if (parts.length > 20) return 'it lies more than 20 folders deep';
  if (path === IMAGE_LIST || path === IMAGE_SIGNATURE) return 'the list and its signatures are no files of the list';
  return undefined;
}

/** A key that may sign images, with when it ends (seconds since the Unix epoch). */
export interface ImageKey {
  /** PEM, Ed25519. */
  readonly key: string;
  readonly notAfter?: number;
}

export interface ImageKeys {
  readonly keys: readonly ImageKey[];
  /** So many different keys must have signed; 1 at least. */
  readonly threshold: number;
}

/** No signature of a plugin or of an app can be taken for one of an image. */
const message = (hash: string): Buffer => Buffer.from(`device-core image ${hash}\n`);

/** A line of the signature file. `pem` is an Ed25519 private key. */
export function signImage(hash: string, pem: string): string {
  const key = ed25519(createPrivateKey(pem));
  return signatureLine(key, sign(null, message(hash), key));
}

/** The same for a signature that was made elsewhere, by a device that keeps the key. `pem` is the public key. */
export const signatureLine = (key: KeyObject | string, signature: Uint8Array): string =>
  `${fingerprint(typeof key === 'string' ? ed25519(createPublicKey(key)) : createPublicKey(key))} ${Buffer.from(signature).toString('base64')}\n`;

/** Text for a signer outside. */
export const textToSign = (hash: string): string => message(hash).toString('utf8');

/**
 * Fingerprints of the keys that signed. `time` is what the device knows of it at least (seconds); a key that ended
 * before the image was built, or before `time`, counts for nothing. Throws ImageError `signature`.
 */
export function verifyImage(
  hash: string,
  signatures: string,
  { keys, threshold }: ImageKeys,
  time: number,
): readonly string[] {
  const trusted = new Map(keys.map((one) => [fingerprint(ed25519(createPublicKey(one.key))), one]));
  const good = new Set<string>();
  const notes: string[] = [];
  for (const line of signatures.split('\n').slice(0, 64)) {
    const [print = '', signature = ''] = line.split(' ');
    const known = trusted.get(print);
    if (known === undefined) {
      if (print !== '') notes.push(`${print.slice(0, 80)} is not trusted`);
    } else if (known.notAfter !== undefined && known.notAfter < time) notes.push(`${print} has ended`);
    else if (!verify(null, message(hash), createPublicKey(known.key), Buffer.from(signature, 'base64')))
      notes.push(`the signature of ${print} is of another list`);
    else good.add(print);
  }
  if (good.size >= Math.max(1, threshold)) return [...good];
  const missing = `${good.size} of ${Math.max(1, threshold)} signatures${signatures.trim() === '' ? ': it has no signature' : ''}`;
  throw new ImageError('signature', [missing, ...notes.slice(0, 4)].join('; '));
}

function ed25519(key: KeyObject): KeyObject {
  if (key.asymmetricKeyType !== 'ed25519')
    throw new ImageError('signature', `a key is for ${key.asymmetricKeyType}, not Ed25519`);
  return key;
}

const fingerprint = (key: KeyObject): string =>
  `sha256:${createHash('sha256')
    .update((key.type === 'private' ? createPublicKey(key) : key).export({ format: 'der', type: 'spki' }))
    .digest('hex')}`;

/**
 * Reads all files of a folder and says what is not as the list has it, the first thing found; nothing where all is
 * well. Links, devices and files that the list does not name are differences. With `quick` sizes and modes alone are
 * looked at.
 */
export function differenceOf(folder: string, image: Image, how: 'full' | 'quick' = 'full'): ImageError | undefined {
  for (const difference of differencesOf(folder, image, how)) return difference;
  return undefined;
}

/** All of them, one after another: who puts one right goes on behind it. */
export function* differencesOf(folder: string, image: Image, how: 'full' | 'quick' = 'full'): Generator<ImageError> {
  try {
    const there = namesOf(folder);
    const buffer = Buffer.allocUnsafe(CHUNK);
    for (const file of image.files) {
      const found = there.delete(file.path) ? problemOf(folder, file, buffer, how) : 'it is missing';
      if (found !== undefined) yield new ImageError('file', found, file.path);
    }
    for (const name of [IMAGE_LIST, IMAGE_SIGNATURE]) there.delete(name);
    for (const more of there) yield new ImageError('file', 'the list does not name it', more);
  } catch (error) {
    yield error instanceof ImageError ? error : new ImageError('file', (error as Error).message);
  }
}

/** Fault of one file, whatever else lies in the folder. */
export const fileProblem = (folder: string, file: ImageFile): string | undefined =>
  problemOf(folder, file, Buffer.allocUnsafe(CHUNK), 'full');

function problemOf(folder: string, file: ImageFile, buffer: Buffer, how: 'full' | 'quick'): string | undefined {
  try {
    return readFileOf(`${folder}/${file.path}`, file, buffer, how);
  } catch (error) {
    return (error as Error).message;
  }
}

/** Throws ImageError for whatever is neither a file nor a folder. */
function namesOf(folder: string): Set<string> {
  const found = new Set<string>();
  const walk = (below: string): void => {
    for (const entry of readdirSync(`${folder}/${below}`, { withFileTypes: true })) {
      const path = below + entry.name;
      if (entry.isDirectory()) walk(`${path}/`);
      else if (entry.isFile()) found.add(path);
      else throw new ImageError('file', entry.isSymbolicLink() ? 'it is a link' : 'it is no file', path);
      if (found.size > MOST_FILES + 2) throw new ImageError('file', `there are more than ${MOST_FILES} files`, path);
    }
  };
  walk('');
  return found;
}

function readFileOf(path: string, file: ImageFile, buffer: Buffer, how: 'full' | 'quick'): string | undefined {
  const handle = openSync(path, fs.O_RDONLY | fs.O_NOFOLLOW | fs.O_NONBLOCK);
  try {
    const stat = fstatSync(handle);
    if (!stat.isFile()) return 'it is no file';
    if ((stat.mode & 0o7777) !== file.mode) return `its mode is ${(stat.mode & 0o7777).toString(8)}`;
    if (stat.size !== file.size) return `it has ${stat.size} bytes, not ${file.size}`;
    if (how === 'quick') return undefined;
    const hash = createHash('sha256');
    for (;;) {
      const count = readSync(handle, buffer, 0, CHUNK, null);
      if (count === 0) break;
      hash.update(buffer.subarray(0, count));
    }
    return hash.digest('hex') === file.sha256 ? undefined : 'it has another content';
  } finally {
    closeSync(handle);
  }
}
