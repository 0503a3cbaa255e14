import { existsSync, readlinkSync, realpathSync } from 'node:fs';
import { link, mkdir, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Apps of a checkout take the library for apps from there. */
const API = dirname(fileURLToPath(import.meta.resolve('@device-core/plugin-api')));

/** Files that a program of this folder reads besides the system and the folder: the runtime, packages of a checkout. */
export function besideOf(program: string, folder: string): readonly string[] {
  const real = realpathSync(program);
  const runtime = basename(dirname(real)) === 'bin' ? [join(dirname(dirname(real)), 'lib')] : [];
  // Missing folders are left out: a warden knows the folders of the device, and no others.
  return [real, ...runtime, API, realpathSync(folder), ...packageFolders(folder).filter((path) => existsSync(path))];
}

/**
 * The shared socket once more, in a folder that holds nothing else: a sandbox that shows the folder shows the socket,
 * also when it was made anew. Undefined where it is not there, or on another file system.
 */
export async function shareSocket(path: string, run: string): Promise<string | undefined> {
  const folder = join(run, 'shared');
  const shared = join(folder, basename(path));
  const [there, ours] = await Promise.all([path, shared].map((file) => stat(file).catch(() => undefined)));
  if (!there) return undefined;
  if (ours?.ino === there.ino && ours.dev === there.dev) return folder;
  try {
    await mkdir(folder, { recursive: true, mode: 0o711 });
    await rm(shared, { force: true });
    await link(path, shared);
    return folder;
  } catch {
    // The sandbox shows the socket itself then, which is the old one after a restart of its owner.
    return undefined;
  }
}

/** Nobody sees the shared socket in the folder any more. */
export async function unshareSocket(run: string): Promise<void> {
  await rm(join(run, 'shared'), { recursive: true, force: true });
}

/** node_modules of the folders above, and the package.json of each, which Node reads to know the kind of a module. */
function packageFolders(folder: string): string[] {
  const above = dirname(folder);
  if (above === folder) return [];
  return [join(above, 'node_modules'), join(above, 'package.json'), ...linkedApi(above), ...packageFolders(above)];
}

/** Target of a link to the plugin-api of a checkout, resolved from the node_modules in which it stands. */
function linkedApi(above: string): readonly string[] {
  const scope = join(above, 'node_modules', '@device-core');
  try {
    return [resolve(scope, readlinkSync(join(scope, 'plugin-api')))];
  } catch {
    return []; // it is not there, or no link
  }
}
