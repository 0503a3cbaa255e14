/** The file of an app's socket: its directory, its modes and its owner. */
import { chmod, lchown, lstat, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreError, reasonOf } from '@device-core/plugin-api';

const NAME = /^[a-z][a-z0-9-]{0,39}$/;
/** sun_path holds 108 bytes with the final zero. */
const MAX_PATH_BYTES = 107;

/** `<run>/apps/<name>/rpc.sock`. Throws PARAMS_INVALID, UNAVAILABLE. */
export function socketPath(run: string, name: string): string {
  if (!NAME.test(name))
    throw new CoreError('PARAMS_INVALID', { where: 'the name of an app', reason: `"${name}" does not fit ${NAME}` });
  const path = join(run, 'apps', name, 'rpc.sock');
  const bytes = Buffer.byteLength(path);
  if (bytes > MAX_PATH_BYTES)
    throw unavailable(name, `its path has ${bytes} bytes, ${MAX_PATH_BYTES} are possible; choose a shorter root`);
  return path;
}

/**
 * Makes the directory (0700), the Core's own until handOver(), so that nobody can put a link in the place of the socket
 * meanwhile, and removes what a Core that was killed left behind. Throws UNAVAILABLE.
 */
export async function prepare(path: string, name: string): Promise<void> {
  const directory = join(path, '..');
  // Apps of other users must get through to their own directories.
  await mkdir(join(directory, '..'), { recursive: true, mode: 0o711 });
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await give(directory, process.getuid?.());
  await chmod(directory, 0o700);
  const old = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw unavailable(name, reasonOf(error));
  });
  if (old && !old.isSocket()) throw unavailable(name, `${path} is no socket`);
  if (old) await rm(path);
}

/** Nobody but the app may connect; socket and directory are the app's own from now on. */
export async function handOver(path: string, uid: number | undefined): Promise<void> {
  await chmod(path, 0o600);
  await give(path, uid);
  await give(join(path, '..'), uid);
  // A Core that may give nothing away lets the app pass; the socket is given by whoever starts it.
  if (uid !== undefined && process.getuid?.() !== 0) await chmod(join(path, '..'), 0o711);
}

/**
 * Without the right to give files away, app and Core share one user, as in development. Links themselves are given, not
 * what they point to.
 */
async function give(path: string, uid: number | undefined): Promise<void> {
  if (uid === undefined || process.getuid?.() !== 0) return;
  await lchown(path, uid, process.getgid?.() ?? 0);
}

export function unavailable(name: string, reason: string): CoreError {
  return new CoreError('UNAVAILABLE', { what: `the socket of app ${name}`, reason });
}
