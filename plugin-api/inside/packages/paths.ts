/** Which files of a folder are in its package. */
import type { Dirent } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreError, reasonOf } from '../../contract/errors.ts';

/** Files that are never packed; of node_modules only the bundled packages come along. */
const NEVER_PACKED =
  /^(\.git|\.svn|\.hg|CVS|\.DS_Store|\.npmrc|\.gitignore|\.npmignore|package-lock\.json|npm-debug\.log)$/;
const NEVER_BUNDLED = /^(\.bin|\.cache|\.package-lock\.json)$/;
/** Files that `app pack` wrote before: a package holds no package of itself. The packed client library is unpacked in node_modules. */
const FORMER_PACKAGE = /^([a-z][a-z0-9-]*-\d[^/]*\.app|device-core-app-\d[^/]*\.tgz)$/;
const CORE = '@device-core';
const MAX_PATH = 255;
const MAX_DEPTH = 20;

/** `below` is the folder, with a slash at its end unless it is the top. True: the entry is left out. */
type Skip = (below: string, name: string) => boolean;

/** Why a path cannot be one of a package; undefined when it can. The same for tarballs and folders. */
export function pathProblem(path: string): string | undefined {
  if (path.length > MAX_PATH) return `its path has more than ${MAX_PATH} characters`;
  if (/[\p{Cc}\\]/u.test(path)) return 'its path has a control character or a backslash';
  const parts = path.split('/');
  if (parts.length > MAX_DEPTH) return `it lies more than ${MAX_DEPTH} folders deep`;
  if (parts.some((part) => part === '' || part === '.' || part === '..')) return 'its path leads elsewhere';
  return undefined;
}

/**
 * Paths of the files that `npm pack` would take from a folder without lists in package.json; of node_modules only
 * bundled packages. Throws like filesOf().
 */
export async function packedFilesOf(folder: string, limit: number): Promise<string[]> {
  const text = await readFile(join(folder, 'package.json'), 'utf8').catch(() => '{}'); // a plugin needs none
  try {
    const { bundleDependencies, bundledDependencies = bundleDependencies } = Object(JSON.parse(text));
    const bundled =
      bundledDependencies === true || (Array.isArray(bundledDependencies) && bundledDependencies.length > 0);
    return filesOf(folder, limit, (below, name) => {
      if (name === 'node_modules') return !bundled;
      return (
        NEVER_PACKED.test(name) || (below.endsWith('node_modules/') && (NEVER_BUNDLED.test(name) || name === CORE))
      );
    });
  } catch (error) {
    throw new CoreError('PACKAGE_INVALID', { source: join(folder, 'package.json'), reason: reasonOf(error) });
  }
}

/** Paths of the files that belong into the package of an app: its dependencies come along. Throws like filesOf(). */
export function appFilesOf(folder: string, limit: number): Promise<string[]> {
  return filesOf(
    folder,
    limit,
    (below, name) =>
      NEVER_PACKED.test(name) ||
      (below === '' && FORMER_PACKAGE.test(name)) ||
      (below.endsWith('node_modules/') && NEVER_BUNDLED.test(name)),
  );
}

/**
 * Paths of the files below a folder, sorted. Without `skip` everything counts. Throws PACKAGE_INVALID for links,
 * devices and the like, for paths that no package may have, and beyond the limit of files.
 */
export async function filesOf(folder: string, limit: number, skip: Skip = () => false): Promise<string[]> {
  const found: string[] = [];
  const refuse = (path: string, reason: string): never => {
    throw new CoreError('PACKAGE_INVALID', { source: join(folder, path), reason });
  };
  const take = (entry: Dirent, path: string): void => {
    if (!entry.isFile()) refuse(path, entry.isSymbolicLink() ? 'it is a link' : 'it is no file');
    if (found.push(path) > limit) refuse('', `it has more than ${limit} files`);
  };
  const walk = async (below: string): Promise<void> => {
    for (const entry of await readdir(join(folder, below), { withFileTypes: true })) {
      const path = below + entry.name;
      if (skip(below, entry.name)) continue;
      const problem = pathProblem(path);
      if (problem) refuse(path, problem);
      if (entry.isDirectory()) await walk(`${path}/`);
      else take(entry, path);
    }
  };
  await walk('');
  return found.sort(byCode);
}

function byCode(a: string, b: string): number {
  return a < b ? -1 : 1;
}
