/** Files of a checkout for a device: the code, its manifests, and the packages that are not for developers alone. */
import { constants } from 'node:fs';
import { chmod, copyFile, lstat, mkdir, readdir, readFile, readlink, realpath, symlink } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';

const PARTS = [
  'kernel',
  'manifests',
  'plugin-api',
  'plugins',
  'systemd',
  'package.json',
  'package-lock.json',
  'LICENSE',
];
/** Left out: all of the runtime but the program, and all launchers but its own. */
const LEFT_OUT = [
  /^node_modules\/node-linux-[^/]+\/(?!bin(\/|$)|LICENSE$|package\.json$)/,
  /^node_modules\/\.(?!bin(\/node)?$)/,
];
const LAUNCHERS = /^node_modules\/\.bin\/(?!node$)/;
/** Optional for the checkout, but a tool of its developers. */
const TOOLS = /^node_modules\/@biomejs(\/|$)/;

interface Lock {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean; readonly devOptional?: boolean }>>;
}

/** Paths relative to the checkout, folders before what is in them. Throws for a link that leads out of the checkout. */
export async function productionFiles(checkout: string): Promise<readonly string[]> {
  const { packages } = JSON.parse(await readFile(join(checkout, 'package-lock.json'), 'utf8')) as Lock;
  const forDevelopers = new Set(Object.keys(packages).filter((path) => packages[path]?.dev));
  const left = (path: string) =>
    forDevelopers.has(path) ||
    TOOLS.test(path) ||
    LAUNCHERS.test(path) ||
    LEFT_OUT.some((pattern) => pattern.test(path));
  const found: string[] = [];
  const walk = async (path: string): Promise<void> => {
    if (left(path)) return;
    const info = await lstat(join(checkout, path));
    if (info.isSymbolicLink()) await within(checkout, path);
    else if (!info.isDirectory() && !info.isFile()) return;
    found.push(path);
    if (!info.isDirectory()) return;
    for (const name of (await readdir(join(checkout, path))).sort()) await walk(join(path, name));
  };
  for (const part of [...PARTS, 'node_modules']) await walk(part);
  return found;
}

async function within(checkout: string, path: string): Promise<void> {
  const to = await readlink(join(checkout, path));
  const target = relative(checkout, resolve(checkout, dirname(path), to));
  if (to.startsWith('/') || target.startsWith('..'))
    throw new Error(`${path} is a link that leads out of the checkout`);
}

/** Copies them to a folder that is not there yet: nobody but the owner may write any of it. */
export async function copyFiles(checkout: string, files: readonly string[], folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o755 });
  for (const path of files) {
    const from = join(checkout, path);
    const to = join(folder, path);
    const info = await lstat(from);
    if (info.isSymbolicLink()) await symlink(await readlink(from), to);
    else if (info.isDirectory()) await mkdir(to, { mode: 0o755 });
    else {
      await copyFile(from, to, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
      await chmod(to, info.mode & 0o111 ? 0o755 : 0o644);
    }
  }
}

/** The runtime of a checkout, as the device will see it below `prefix`. */
export async function nodeOf(checkout: string, prefix: string): Promise<string> {
  const node = await realpath(join(checkout, 'node_modules/.bin/node'));
  return join(prefix, relative(await realpath(checkout), node));
}
