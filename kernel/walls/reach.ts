import { existsSync, statSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PluginManifest } from '@device-core/plugin-api';
import { replaceFile } from '@device-core/plugin-api/durable';
import type { SandboxFiles } from '@device-core/plugin-api/inside/sandbox';

const KERNEL = dirname(import.meta.dirname);
const PLUGINS = join(dirname(KERNEL), 'plugins/');
const API = dirname(fileURLToPath(import.meta.resolve('@device-core/plugin-api')));

export type DevicePaths = Readonly<Record<'etc' | 'var' | 'run', string>>;

/** Files that a plugin's process may touch, by its manifest and its place. Absolute paths; claims as written, with a `*` at the end. */
export interface Reach {
  /**
   * Its folder, the common room of its wing, kernel, plugin-api, packages, and the cache of compiled modules. That is
   * read only, because other plugins run its code.
   */
  readonly code: readonly string[];
  readonly read: readonly string[];
  readonly write: readonly string[];
}

export function reachOf(manifest: PluginManifest, main: string, paths: DevicePaths, cache: string | undefined): Reach {
  const claimed = (list: readonly string[] = []) =>
    list.map((path) => path.replace(/^\{(etc|var|run)\}/, (_, name: keyof DevicePaths) => paths[name]));
  const code = [
    ...(cache === undefined ? [] : [cache]),
    ownFolder(dirname(main)),
    ...commonRoom(dirname(main)),
    ...[KERNEL, API],
    ...packageFolders(dirname(main)),
    ...packageFolders(API),
  ];
  return { code, read: claimed(manifest.files?.read), write: claimed(manifest.files?.write) };
}

/**
 * The same for walls, which know files and folders that are there. Folders that were claimed to write are made. The run
 * folder is never shown: tokens and sockets come and go there, so that a claim of it leads to a folder of the plugin's
 * own. So does a claim to write single files in a folder of the device.
 */
export async function sandboxFiles(
  plugin: string,
  { code, read, write }: Reach,
  paths: DevicePaths,
): Promise<SandboxFiles> {
  const placed: Record<string, string> = {};
  const place = async (folder: string): Promise<string> => {
    const own = join(folder, 'guests', plugin);
    await mkdir(own, { recursive: true, mode: 0o700 });
    placed[folder] = own;
    return own;
  };
  const readable = read.map(folderOf).filter((path) => path !== paths.run);
  const mine = (path: string) => Object.values(paths).some((folder) => path.startsWith(`${folder}/`));
  // Files that come into a folder later are seen; a folder that comes later is not.
  for (const path of readable) if (mine(path) && !isFile(path)) await make(path);
  const writable: string[] = [];
  for (const path of write.map(folderOf)) {
    if (path === paths.run) continue;
    if (!isFile(path)) {
      await make(path);
      writable.push(path);
    } else if (Object.values(paths).includes(dirname(path))) {
      const own = await place(dirname(path));
      const file = join(own, basename(path));
      // It may have run without walls before.
      if (existsSync(path) && !existsSync(file)) await replaceFile(file, await readFile(path), { sync: false });
    } else writable.push(dirname(path));
  }
  const holdsRun = (claim: string) => claim === '/' || paths.run === claim || paths.run.startsWith(`${claim}/`);
  if ([...read, ...write].map(folderOf).some(holdsRun)) await place(paths.run);
  return { read: [...code, ...readable], write: writable, placed };
}

/** A folder that the Core may not make is left out: the plugin gets the error when it opens the folder. */
async function make(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch(() => undefined);
}

/** `/a/b`, `/a/b/` and `/a/b/*` are one folder. */
function folderOf(claim: string): string {
  return claim.replace(/\/\*?$/, '') || '/';
}

/** A missing path counts as a file if it has a suffix or a wildcard. */
function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? /(.\.[^./]*|\*[^/]*)$/.test(path);
}

/** A plugin from outside the tree may read all files beside its manifest; its module may lie deeper. */
export function ownFolder(start: string): string {
  for (let folder = start; dirname(folder) !== folder; folder = dirname(folder))
    if (existsSync(join(folder, 'plugin.yaml'))) return folder;
  return start;
}

/** A plugin of the tree also runs what its wing shares. */
function commonRoom(folder: string): string[] {
  return folder.startsWith(PLUGINS) ? [join(dirname(folder), 'shared')] : [];
}

/** node_modules of a folder and of those above it, and the package.json of each, which Node reads to know the kind of a module. */
function packageFolders(from: string): string[] {
  const folders: string[] = [];
  for (let folder = from; ; folder = dirname(folder)) {
    folders.push(join(folder, 'node_modules'), join(folder, 'package.json'));
    if (dirname(folder) === folder) return folders;
  }
}
