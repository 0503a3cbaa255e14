/** The files of a plugin as a package: which they are, what they hash to, and who signed that. */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { type Dirent, constants as fs } from 'node:fs';
import { open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreError, reasonOf } from './errors.ts';

/** Detached signature over the tree: the one file that is no part of it. */
export const SIGNATURE_FILE = 'plugin.sig';

export interface TreeLimits {
  readonly files: number;
  readonly bytes: number;
}

export interface Tree {
  /** Path below the folder -> SHA-256 in hex, in the order of the paths. */
  readonly files: ReadonlyMap<string, string>;
  /** `<hex>  <path>` for each file, as sha256sum(1) writes and checks it. */
  readonly list: string;
  /** `sha256:<hex>` of the list. */
  readonly hash: string;
}

/** What npm never packs; of node_modules only what is bundled comes along. */
const NEVER_PACKED =
  /^(\.git|\.svn|\.hg|CVS|\.DS_Store|\.npmrc|\.gitignore|\.npmignore|package-lock\.json|npm-debug\.log)$/;
const NEVER_BUNDLED = /^(\.bin|\.cache|\.package-lock\.json|@device-core)$/;
const MAX_PATH = 255;
const MAX_DEPTH = 20;
const CHUNK = 1 << 16;

/** Why a path cannot be one of a package; undefined when it can. The same for tarballs and folders. */
export function pathProblem(path: string): string | undefined {
  if (path.length > MAX_PATH) return `its path has more than ${MAX_PATH} characters`;
  if (/[\p{Cc}\\]/u.test(path)) return 'its path has a control character or a backslash';
  const parts = path.split('/');
  if (parts.length > MAX_DEPTH) return `it lies more than ${MAX_DEPTH} folders deep`;
  if (parts.some((part) => part === '' || part === '.' || part === '..')) return 'its path leads elsewhere';
  return undefined;
}

/** Paths of the files that `npm pack` would take from a folder without lists of its own; of node_modules only where something is bundled. Throws like filesOf(). */
export async function packedFilesOf(folder: string, limit: number): Promise<string[]> {
  const text = await readFile(join(folder, 'package.json'), 'utf8').catch(() => '{}'); // a plugin needs none
  try {
    const { bundleDependencies, bundledDependencies = bundleDependencies } = Object(JSON.parse(text));
    const bundled =
      bundledDependencies === true || (Array.isArray(bundledDependencies) && bundledDependencies.length > 0);
    return filesOf(folder, limit, { bundled });
  } catch (error) {
    throw new CoreError('PACKAGE_INVALID', { source: join(folder, 'package.json'), reason: reasonOf(error) });
  }
}

/**
 * Paths of the files below a folder, sorted. `packed` leaves out what `npm pack` would; without it everything counts. Throws
 * PACKAGE_INVALID for links, devices and the like, for paths that no package may have, and beyond the limit of files.
 */
export async function filesOf(
  folder: string,
  limit: number,
  packed?: { readonly bundled: boolean },
): Promise<string[]> {
  const found: string[] = [];
  const refuse = (path: string, reason: string): never => {
    throw new CoreError('PACKAGE_INVALID', { source: join(folder, path), reason });
  };
  const skipped = (below: string, { name }: Dirent): boolean => {
    if (!packed) return false;
    if (name === 'node_modules') return !packed.bundled;
    return NEVER_PACKED.test(name) || (below.endsWith('node_modules/') && NEVER_BUNDLED.test(name));
  };
  const walk = async (below: string): Promise<void> => {
    for (const entry of await readdir(join(folder, below), { withFileTypes: true })) {
      const path = below + entry.name;
      if (skipped(below, entry)) continue;
      const problem = pathProblem(path);
      if (problem) refuse(path, problem);
      if (entry.isDirectory()) await walk(`${path}/`);
      else if (!entry.isFile()) refuse(path, entry.isSymbolicLink() ? 'it is a link' : 'it is no file');
      else if (found.push(path) > limit) refuse('', `it has more than ${limit} files`);
    }
  };
  await walk('');
  return found.sort(byCode);
}

/** Reads every file and hashes it. Throws PACKAGE_INVALID when a file is no regular one or there are more bytes than allowed. */
export async function readTree(folder: string, paths: readonly string[], maxBytes: number): Promise<Tree> {
  const files = new Map<string, string>();
  let left = maxBytes;
  for (const path of paths) {
    if (path === SIGNATURE_FILE) continue;
    const hash = createHash('sha256');
    for await (const chunk of chunksOf(join(folder, path))) {
      left -= chunk.length;
      if (left < 0)
        throw new CoreError('PACKAGE_INVALID', { source: folder, reason: `it has more than ${maxBytes} bytes` });
      hash.update(chunk);
    }
    files.set(path, hash.digest('hex'));
  }
  return treeOf(files);
}

export function treeOf(files: ReadonlyMap<string, string>): Tree {
  const list = [...files].map(([path, hex]) => `${hex}  ${path}\n`).join('');
  return { files, list, hash: `sha256:${createHash('sha256').update(list).digest('hex')}` };
}

/** The tree that a list stands for. A damaged line is left out, and so changes the hash. */
export function parseTree(list: string): Tree {
  const lines = [...list.matchAll(/^([0-9a-f]{64}) {2}(.+)$/gm)];
  return treeOf(new Map(lines.map(([, hex = '', path = '']) => [path, hex])));
}

/** Content of the signature file for a tree. `pem` is an Ed25519 private key. Throws PARAMS_INVALID. */
export function signTree(hash: string, pem: string): string {
  const key = ed25519(() => createPrivateKey(pem), 'the signing key');
  const signature = sign(null, message(hash), key).toString('base64');
  return `${JSON.stringify({ algorithm: 'ed25519', key: fingerprint(createPublicKey(key)), signature }, null, 2)}\n`;
}

/** Fingerprint of the trusted key (PEM, Ed25519) that signed the tree. Throws SIGNATURE_INVALID for the plugin named. */
export function verifyTree(plugin: string, hash: string, signature: string, trusted: readonly string[]): string {
  const refuse = (reason: string) => new CoreError('SIGNATURE_INVALID', { plugin, reason });
  let signed: { readonly key?: unknown; readonly signature?: unknown };
  try {
    signed = Object(JSON.parse(signature));
  } catch (error) {
    throw refuse(`${SIGNATURE_FILE} cannot be read: ${reasonOf(error)}`);
  }
  const keys = trusted.map((pem, index) => ed25519(() => createPublicKey(pem), `trusted key ${index + 1}`));
  const key = keys.find((one) => fingerprint(one) === signed.key);
  if (!key) throw refuse(`it is signed by ${signed.key ?? 'nobody'}, which this device does not trust`);
  if (
    typeof signed.signature !== 'string' ||
    !verify(null, message(hash), key, Buffer.from(signed.signature, 'base64'))
  )
    throw refuse('its signature is of other files');
  return fingerprint(key);
}

function ed25519(read: () => KeyObject, where: string): KeyObject {
  let reason: string;
  try {
    const key = read();
    if (key.asymmetricKeyType === 'ed25519') return key;
    reason = `it is a key for ${key.asymmetricKeyType}, not Ed25519`;
  } catch (error) {
    reason = `it is no PEM key: ${reasonOf(error)}`;
  }
  throw new CoreError('PARAMS_INVALID', { where, reason });
}

function fingerprint(key: KeyObject): string {
  return `sha256:${createHash('sha256')
    .update(key.export({ format: 'der', type: 'spki' }))
    .digest('hex')}`;
}

/** A signature of this kind can be taken for no other. */
function message(hash: string): Buffer {
  return Buffer.from(`device-core plugin ${hash}\n`);
}

/** Follows no link, and does not hang on a pipe. */
async function* chunksOf(file: string): AsyncGenerator<Buffer> {
  const handle = await open(file, fs.O_RDONLY | fs.O_NOFOLLOW | fs.O_NONBLOCK);
  try {
    if (!(await handle.stat()).isFile())
      throw new CoreError('PACKAGE_INVALID', { source: file, reason: 'it is no file' });
    const buffer = Buffer.allocUnsafe(CHUNK);
    for (;;) {
      const { bytesRead } = await handle.read(buffer, 0, CHUNK);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}

function byCode(a: string, b: string): number {
  return a < b ? -1 : 1;
}
