/** The file of an app's way out. The folder is that of its socket, which may belong to the app: nothing that lies there is followed. */
import { chmod, lchown, link, lstat, mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CoreError, reasonOf } from '@device-core/plugin-api';

const NAME = /^[a-z][a-z0-9-]{0,39}$/;
/** sun_path holds 108 bytes with the final zero. */
const MAX_PATH_BYTES = 107;

/** `<run>/apps/<name>/egress.sock`. Throws PARAMS_INVALID, UNAVAILABLE. */
export function wayOutPath(run: string, name: string): string {
  if (!NAME.test(name))
    throw new CoreError('PARAMS_INVALID', { where: 'the name of an app', reason: `"${name}" does not fit ${NAME}` });
  const path = join(run, 'apps', name, 'egress.sock');
  const bytes = Buffer.byteLength(path);
  if (bytes > MAX_PATH_BYTES) {
    const reason = `its path has ${bytes} bytes, ${MAX_PATH_BYTES} are possible; choose a shorter root`;
    throw new CoreError('UNAVAILABLE', { what: `the way out of app ${name}`, reason });
  }
  return path;
}

/** Path at which the socket is made: in a folder of the Core, for in that of the app a link could take its place. */
export function makingPath(run: string, name: string): string {
  return join(run, 'apps', `.${name}.out`);
}

/** Makes the folders, and removes what a Core that was killed left behind. */
export async function prepare(making: string, path: string): Promise<void> {
  await mkdir(dirname(making), { recursive: true, mode: 0o711 });
  await rm(making, { force: true });
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  if ((await lstat(dirname(path))).isDirectory()) return;
  throw new CoreError('UNAVAILABLE', { what: path, reason: 'its folder is no folder' });
}

/** Nobody but the app may connect. Without the right to give files away, app and Core share a user, or the supervisor gives it away. */
export async function handOver(making: string, path: string, uid: number | undefined): Promise<void> {
  await chmod(making, 0o600);
  await rm(path, { recursive: true, force: true });
  await link(making, path);
  if (uid !== undefined && process.geteuid?.() === 0) await lchown(making, uid, uid);
  await rm(making);
}

export function unavailable(name: string, thrown: unknown): CoreError {
  if (thrown instanceof CoreError) return thrown;
  return new CoreError('UNAVAILABLE', { what: `the way out of app ${name}`, reason: reasonOf(thrown) });
}
