/** Hash over the files of a package, and the differences between two lists of them. */
import { createHash } from 'node:crypto';
import { constants as fs } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreError, reasonOf } from '../../contract/errors.ts';
import type { PackageKind } from './kind.ts';
import { filesOf } from './paths.ts';

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
  /** Size of all files together. */
  readonly bytes: number;
}

const CHUNK = 1 << 16;

/** Reads every file and hashes it. Throws PACKAGE_INVALID when a file is no regular one or there are more bytes than allowed. */
export async function readTree(
  { signature }: PackageKind,
  folder: string,
  paths: readonly string[],
  maxBytes: number,
): Promise<Tree> {
  const files = new Map<string, string>();
  const buffer = Buffer.allocUnsafe(CHUNK);
  let left = maxBytes;
  for (const path of paths) {
    if (path === signature) continue;
    const hash = createHash('sha256');
    for await (const chunk of chunksOf(join(folder, path), buffer)) {
      left -= chunk.length;
      if (left < 0)
        throw new CoreError('PACKAGE_INVALID', { source: folder, reason: `it has more than ${maxBytes} bytes` });
      hash.update(chunk);
    }
    files.set(path, hash.digest('hex'));
  }
  return treeOf(files, maxBytes - left);
}

export function treeOf(files: ReadonlyMap<string, string>, bytes = 0): Tree {
  const list = [...files].map(([path, hex]) => `${hex}  ${path}\n`).join('');
  return { files, list, hash: `sha256:${createHash('sha256').update(list).digest('hex')}`, bytes };
}

/** The tree that a list stands for. A damaged line is left out, and so changes the hash. */
export function parseTree(list: string): Tree {
  const lines = [...list.matchAll(/^([0-9a-f]{64}) {2}(.+)$/gm)];
  return treeOf(new Map(lines.map(([, hex = '', path = '']) => [path, hex])));
}

/**
 * Why a folder does not hold what it held when this hash was taken; undefined where it does. `list` is the text of its
 * list, if it can be read.
 */
export async function changeOf(
  kind: PackageKind,
  folder: string,
  hash: string,
  list: () => Promise<string>,
  limits: TreeLimits,
): Promise<string | undefined> {
  let tree: Tree;
  try {
    // One file more than allowed is let in to be named below.
    tree = await readTree(kind, folder, await filesOf(folder, limits.files + 1), limits.bytes);
  } catch (error) {
    return reasonOf(error);
  }
  if (tree.hash === hash) return undefined;
  return difference(tree, parseTree(await list().catch(() => '')), hash);
}

function difference(now: Tree, then: Tree, hash: string): string {
  if (then.hash !== hash) return 'files differ, and the list that would name them was changed, too';
  for (const [path, hex] of now.files) {
    const was = then.files.get(path);
    if (was === undefined) return `${path} was added`;
    if (was !== hex) return `${path} has another content`;
  }
  const gone = [...then.files.keys()].find((path) => !now.files.has(path));
  return `${gone ?? 'a file'} is missing`;
}

/** Follows no link, and does not hang on a pipe. A chunk is good until the next is asked for. */
async function* chunksOf(file: string, buffer: Buffer): AsyncGenerator<Buffer> {
  const handle = await open(file, fs.O_RDONLY | fs.O_NOFOLLOW | fs.O_NONBLOCK);
  try {
    if (!(await handle.stat()).isFile())
      throw new CoreError('PACKAGE_INVALID', { source: file, reason: 'it is no file' });
    for (;;) {
      const { bytesRead } = await handle.read(buffer, 0, CHUNK);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}
