/** Writes the package of an app. The same files give the same bytes on every machine, at any time. */
import { createHash } from 'node:crypto';
import { constants as fs } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { createGzip } from 'node:zlib';
import { CoreError } from '../../contract/errors.ts';
import { archiveEnd, member, REPRODUCIBLE } from './archive.ts';
import { APP_PACKAGE } from './kind.ts';
import { appFilesOf } from './paths.ts';
import { signTree } from './signature.ts';
import { readTree, type Tree, type TreeLimits } from './tree.ts';

/** Private keys in a package are public: packing a folder with one fails. Libraries may bring keys of their tests. */
const PRIVATE_KEY = /^\s*-----BEGIN [A-Z ]*PRIVATE KEY-----/;

export interface PackOptions {
  /** Name of the one folder in the archive: `agenda-1.4.0`. */
  readonly top: string;
  /** Ed25519 private key, PEM. */
  readonly key?: string;
  readonly limits: TreeLimits;
}

export interface Packed {
  readonly bytes: Buffer;
  readonly tree: Tree;
  /** True where app.sig was made. */
  readonly signed: boolean;
}

/** Packs a folder. An `app.sig` that lies there is left out: it is made anew, or not at all. Throws PACKAGE_INVALID, PARAMS_INVALID. */
export async function packApp(folder: string, { top, key, limits }: PackOptions): Promise<Packed> {
  const { signature } = APP_PACKAGE;
  const paths = (await appFilesOf(folder, limits.files)).filter((path) => path !== signature);
  const tree = await readTree(APP_PACKAGE, folder, paths, limits.bytes);
  const gzip = createGzip({ level: 9 });
  const chunks: Buffer[] = [];
  const over = Promise.withResolvers<void>();
  gzip.on('data', (chunk: Buffer) => chunks.push(chunk));
  gzip.on('end', over.resolve);
  gzip.on('error', over.reject);
  const add: Add = (path, mode, body) => {
    for (const part of member(`${top}/${path}`, body, { ...REPRODUCIBLE, mode })) gzip.write(part);
  };
  const sig = key === undefined ? undefined : signTree(APP_PACKAGE, tree.hash, key);
  for (const path of sig === undefined ? paths : [...paths, signature].sort()) {
    if (path === signature && sig !== undefined) add(path, 0o644, Buffer.from(sig));
    else await file(folder, path, tree, add);
  }
  gzip.end(archiveEnd());
  await over.promise;
  return { bytes: Buffer.concat(chunks), tree, signed: sig !== undefined };
}

type Add = (path: string, mode: number, body: Buffer) => void;

async function file(folder: string, path: string, tree: Tree, add: Add): Promise<void> {
  await using handle = await open(join(folder, path), fs.O_RDONLY | fs.O_NOFOLLOW | fs.O_NONBLOCK);
  const { mode } = await handle.stat();
  const body = await handle.readFile();
  if (createHash('sha256').update(body).digest('hex') !== tree.files.get(path))
    throw new CoreError('PACKAGE_INVALID', { source: join(folder, path), reason: 'it changed while it was packed' });
  if (!path.includes('node_modules/') && PRIVATE_KEY.test(body.toString('latin1', 0, 256)))
    throw new CoreError('PACKAGE_INVALID', { source: join(folder, path), reason: 'it holds a private key' });
  add(path, mode & 0o100 ? 0o755 : 0o644, body);
}
