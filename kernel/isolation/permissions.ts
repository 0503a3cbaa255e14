import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PluginManifest } from '@device-core/plugin-api';

const KERNEL = dirname(import.meta.dirname);
const API = dirname(fileURLToPath(import.meta.resolve('@device-core/plugin-api')));

/**
 * What a plugin process may touch, as flags of Node's permission model: reading its own folder, kernel, plugin-api and the packages, and what its manifest
 * claims under `files`; of the cache of compiled modules it is a reader, for what stands there other plugins run.
 * No other file, no child process, no worker, no addon, no inspector. The network is not covered.
 */
export function permissionFlags(
  manifest: PluginManifest,
  main: string,
  paths: Readonly<Record<'etc' | 'var' | 'run', string>>,
  cache: string | undefined,
): readonly string[] {
  // A folder that is not there yet is claimed with what it will hold.
  const claimed = (list: readonly string[] = []) =>
    list
      .map((path) => path.replace(/^\{(etc|var|run)\}/, (_, name: keyof typeof paths) => paths[name]))
      .flatMap((path) => (/[*/]$/.test(path) ? [path] : [path, `${path}/*`]));
  const { read = [], write = [] } = manifest.files ?? {};
  const readable = [
    ...(cache === undefined ? [] : [cache]),
    ownFolder(dirname(main)),
    KERNEL,
    API,
    ...packageFolders(dirname(main)),
    ...packageFolders(API),
    ...claimed(read),
  ];
  return [
    '--permission',
    ...[...new Set([...readable, ...claimed(write)].flatMap(withReal))].map((path) => `--allow-fs-read=${path}`),
    ...[...new Set(claimed(write).flatMap(withReal))].map((path) => `--allow-fs-write=${path}`),
  ];
}

/** A plugin from outside the tree may read all that lies beside its manifest, wherever below it the module is. */
function ownFolder(start: string): string {
  for (let folder = start; dirname(folder) !== folder; folder = dirname(folder))
    if (existsSync(join(folder, 'plugin.yaml'))) return folder;
  return start;
}

/** node_modules of a folder and of those above it, and the package.json of each, which Node reads to know the kind of a module. */
function packageFolders(from: string): string[] {
  const folders: string[] = [];
  for (let folder = from; ; folder = dirname(folder)) {
    folders.push(join(folder, 'node_modules'), join(folder, 'package.json'));
    if (dirname(folder) === folder) return folders;
  }
}

function withReal(path: string): string[] {
  try {
    return [path, realpathSync(path)];
  } catch {
    return [path]; // it need not be there yet
  }
}
