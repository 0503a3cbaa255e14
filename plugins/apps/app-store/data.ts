/**
 * The data of an app: copied before another form of them comes, put back, removed. The app wrote all of it, so no link
 * in it is ever followed: folders are walked by their open handles, files are opened without following, and what is
 * neither stays behind.
 */
import { randomUUID } from 'node:crypto';
import { constants as fs } from 'node:fs';
import { chmod, lchown, lstat, mkdir, open, readdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CoreError } from '@device-core/plugin-api';
import { makeFolder, storageError, syncName } from '@device-core/plugin-api/durable';
import { moveAside } from '@device-core/plugin-api/inside/pending-state';

const FOLDER = fs.O_RDONLY | fs.O_DIRECTORY | fs.O_NOFOLLOW;
const FILE = fs.O_RDONLY | fs.O_NOFOLLOW | fs.O_NONBLOCK;
const MAX_DEPTH = 64;
const CHUNK = 1 << 18;
/** Name of data that had to make room and could not be removed: they go with the rest of the app. */
const FORMER = '.former-';
/** No data at all instead of a copy. */
export const NO_DATA = 'none';

export class AppData {
  /** `<var>/apps`. */
  readonly #place: string;

  constructor(place: string) {
    this.#place = place;
  }

  folder(id: string): string {
    return join(this.#place, id);
  }

  /** Bytes that the disk gives to its data, without its cache; 0 where there are none. */
  async bytes(id: string): Promise<number> {
    return bytesOf(join(this.folder(id), 'data'), 0);
  }

  async exists(id: string): Promise<boolean> {
    return isFolder(join(this.folder(id), 'data'));
  }

  /** Copies its data to `before/<version>`: whole or not there. Nothing of the app runs meanwhile. Throws the codes of a disk. */
  async copy(id: string, version: string, signal: AbortSignal): Promise<void> {
    const before = join(this.folder(id), 'before');
    const fresh = join(before, `.${version}`);
    try {
      await makeFolder(before);
      await rm(fresh, { recursive: true, force: true });
      await copyFolder(join(this.folder(id), 'data'), fresh, signal, 0);
      await rm(join(before, version), { recursive: true, force: true });
      await rename(fresh, join(before, version));
      await syncName(join(before, version));
    } catch (thrown) {
      await rm(fresh, { recursive: true, force: true }).catch(() => undefined); // the former error tells
      throw storageError(before, thrown);
    }
  }

  /** Puts the copy in the place of its data, once: the copy is gone then. May be cut off and done again. */
  async restore(id: string, version: string): Promise<void> {
    const data = join(this.folder(id), 'data');
    const copy = join(this.folder(id), 'before', version);
    try {
      if (version !== NO_DATA && !(await isFolder(copy))) return;
      await this.#clear(id);
      if (version !== NO_DATA) await rename(copy, data);
      await syncName(data);
    } catch (thrown) {
      throw storageError(data, thrown);
    }
  }

  /** Removes copies, all or all but this one. */
  async forgetCopies(id: string, except?: string): Promise<void> {
    const before = join(this.folder(id), 'before');
    const names = await readdir(before).catch(() => []); // there are none
    for (const name of names) if (name !== except) await rm(join(before, name), { recursive: true, force: true });
  }

  /**
   * Everything that was the app's: data, cache, copies, configuration. What belongs to a user of its own cannot be
   * removed, but goes from its place: resolves with where it waits for the supervisor, absolute; undefined where all is
   * gone.
   */
  async purge(id: string): Promise<string | undefined> {
    const folder = this.folder(id);
    try {
      return await removeOr(folder, (reason) => {
        const name = join(basename(this.#place), id);
        return join(this.#state, moveAside(this.#state, name, [{ path: name, reason }]));
      });
    } catch (thrown) {
      throw storageError(folder, thrown);
    }
  }

  get #state(): string {
    return dirname(this.#place);
  }

  /** Its data are gone from their place: removed, or else under another name, which the Core may give to what lies in its own folder. */
  async #clear(id: string): Promise<void> {
    const data = join(this.folder(id), 'data');
    await removeOr(data, () => rename(data, join(this.folder(id), `${FORMER}${randomUUID()}`)));
  }
}

/** A folder of another user in the way leads to `instead`, with the reason. */
async function removeOr<T>(folder: string, instead: (reason: string) => T | Promise<T>): Promise<T | undefined> {
  try {
    await rm(folder, { recursive: true, force: true });
    return undefined;
  } catch (thrown) {
    const { code = '' } = thrown as NodeJS.ErrnoException;
    if (code !== 'EACCES' && code !== 'EPERM') throw thrown;
    return instead(code);
  }
}

function isFolder(path: string): Promise<boolean> {
  return lstat(path).then(
    (info) => info.isDirectory(),
    () => false,
  );
}

async function bytesOf(folder: string, depth: number): Promise<number> {
  if (depth > MAX_DEPTH || !(await isFolder(folder))) return 0;
  const opened = await open(folder, FOLDER).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code !== 'EACCES') throw thrown;
    return undefined; // its owner keeps it to itself: nobody can say
  });
  if (!opened) return 0;
  await using handle = opened;
  const inside = `/proc/self/fd/${handle.fd}`;
  let bytes = 0;
  for (const entry of await readdir(inside, { withFileTypes: true })) {
    const path = join(inside, entry.name);
    if (entry.isDirectory()) bytes += await bytesOf(path, depth + 1);
    else bytes += (await lstat(path).catch(() => ({ blocks: 0 }))).blocks * 512; // it went meanwhile
  }
  return bytes;
}

async function copyFolder(from: string, to: string, signal: AbortSignal, depth: number): Promise<void> {
  signal.throwIfAborted();
  if (depth > MAX_DEPTH)
    throw new CoreError('STATE_UNWRITABLE', { file: to, reason: `it lies more than ${MAX_DEPTH} folders deep` });
  await using handle = await open(from, FOLDER);
  const { mode, uid, gid } = await handle.stat();
  const inside = `/proc/self/fd/${handle.fd}`;
  await mkdir(to, { mode: 0o700 });
  for (const entry of await readdir(inside, { withFileTypes: true })) {
    const source = join(inside, entry.name);
    const target = join(to, entry.name);
    if (entry.isDirectory()) await copyFolder(source, target, signal, depth + 1);
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), target).then(() => own(target, source));
    else if (entry.isFile()) await copyFile(source, target, signal);
  }
  await chmod(to, mode & 0o777);
  await giveTo(to, uid, gid);
  await sync(to);
}

async function copyFile(from: string, to: string, signal: AbortSignal): Promise<void> {
  await using source = await open(from, FILE);
  const { size, mode, uid, gid } = await source.stat();
  await using target = await open(to, 'wx', mode & 0o777);
  const buffer = Buffer.allocUnsafe(CHUNK);
  // A file that grows meanwhile does not grow here.
  for (let left = size; left > 0; ) {
    signal.throwIfAborted();
    const { bytesRead } = await source.read(buffer, 0, Math.min(CHUNK, left));
    if (bytesRead === 0) break;
    await target.writeFile(buffer.subarray(0, bytesRead));
    left -= bytesRead;
  }
  await target.sync();
  await giveTo(to, uid, gid);
}

async function own(target: string, source: string): Promise<void> {
  const { uid, gid } = await lstat(source);
  await giveTo(target, uid, gid);
}

/** Only root gives files away; without root everything is the Core's own. */
async function giveTo(path: string, uid: number, gid: number): Promise<void> {
  if (process.getuid?.() === 0) await lchown(path, uid, gid);
}

async function sync(path: string): Promise<void> {
  await using handle = await open(path, 'r');
  await handle.sync();
}
