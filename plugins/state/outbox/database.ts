/**
 * The file of one queue. A new one is made under another name and put in its place whole, so what lies there is always
 * either ours or no queue at all. SQLite is loaded with the first queue: a Core without any does not pay for it.
 */
import { lstat, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { CoreError, maybe, newerForm, reasonOf } from '@device-core/plugin-api';
import {
  diskState,
  makeFolder,
  setAside,
  storageError,
  sweepLeftovers,
  syncName,
} from '@device-core/plugin-api/durable';

export const ENDING = '.sqlite';
const FORM = 1;
/** In the header of each file of ours: "dcob". */
const APPLICATION = 0x64_63_6f_62;
const MAGIC = 'SQLite format 3\0';
const HEADER_BYTES = 100;
/** Pages of 4 KiB that wait in the log of writes before they are put in their place: what one write may have to wait for. */
const CHECKPOINT_PAGES = 512;

export const TABLES = `
CREATE TABLE message (
  id INTEGER PRIMARY KEY, level INTEGER NOT NULL, at INTEGER NOT NULL, since INTEGER NOT NULL,
  what TEXT NOT NULL, key TEXT, body TEXT NOT NULL, bytes INTEGER NOT NULL
) STRICT;
CREATE INDEX message_by_level ON message(level, id, bytes);
CREATE INDEX message_by_key ON message(key) WHERE key IS NOT NULL;
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;`;

/** Primary codes of SQLite, https://www.sqlite.org/rescode.html. */
const BUSY = [5, 6];
const DISK: Readonly<Record<number, string>> = { 8: 'EROFS', 10: 'EIO', 13: 'ENOSPC' };
/** Nothing is wrong with the file itself: no memory, cannot be opened, not allowed. */
const REFUSED = [3, 7, 14, 23];

/** As a code of the table: STATE_CORRUPT says that the file is no queue any more. */
export function databaseError(file: string, thrown: unknown): CoreError {
  if (thrown instanceof CoreError) return thrown;
  const { errcode } = thrown as { readonly errcode?: unknown };
  if (typeof errcode !== 'number') return storageError(file, thrown);
  const primary = errcode & 0xff;
  const reason = reasonOf(thrown);
  if (BUSY.includes(primary)) return storageError(file, new Error(`another process uses it (${reason})`));
  const code = DISK[primary];
  if (code !== undefined) return storageError(file, Object.assign(new Error(reason), { code }));
  if (REFUSED.includes(primary)) return storageError(file, new Error(reason));
  return new CoreError('STATE_CORRUPT', { file, reason }, { cause: thrown });
}

/** State of `file`, read without SQLite: `absent`, `ours`, or the error STATE_NEWER or STATE_CORRUPT. */
export async function lookAt(file: string): Promise<'absent' | 'ours' | CoreError> {
  const corrupt = (reason: string) => new CoreError('STATE_CORRUPT', { file, reason });
  try {
    const info = await lstat(file);
    if (!info.isFile()) return corrupt(info.isDirectory() ? 'it is a folder' : 'it is no regular file');
    const own = process.getuid?.();
    if (own !== undefined && info.uid !== own) return corrupt(`it belongs to user ${info.uid}, not ${own}`);
    await using handle = await open(file, 'r');
    const header = Buffer.alloc(HEADER_BYTES);
    const { bytesRead } = await handle.read(header, 0, HEADER_BYTES, 0);
    if (bytesRead < HEADER_BYTES || header.toString('latin1', 0, 16) !== MAGIC) return corrupt('it is no database');
    if (header.readUInt32BE(68) !== APPLICATION) return corrupt('it is the database of another program');
    const form = header.readUInt32BE(60);
    return newerForm(file, form, FORM) ?? (form === FORM ? 'ours' : corrupt(`it has form ${form}`));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return 'absent';
    if (code === 'EACCES' || code === 'EPERM') return corrupt(reasonOf(error));
    throw storageError(file, error);
  }
}

export interface Opened {
  readonly database: DatabaseSync;
  /** Fault of the former file, and its present place. */
  readonly damage?: string;
}

/**
 * Rejects with STATE_NEWER and the codes of a disk; another file is set aside, as damaged. An error of `use` is damage,
 * too. `known`: its damage.
 */
export async function openDatabase(
  file: string,
  use: (database: DatabaseSync) => void,
  known?: CoreError,
): Promise<Opened> {
  await makeFolder(dirname(file));
  await sweepLeftovers(file);
  const found = known ?? (await lookAt(file));
  if (found instanceof CoreError && found.code !== 'STATE_CORRUPT') throw found;
  let broken = found instanceof CoreError ? found : undefined;
  if (found === 'ours') {
    try {
      return { database: await opened(file, use) };
    } catch (error) {
      broken = databaseError(file, error);
      // SQLite reports only a failure for a read-only disk.
      if (broken.code !== 'STATE_CORRUPT') throw (await diskState(dirname(file))) ?? broken;
    }
  }
  try {
    const damage = broken && `${reasonOf(broken)}; it was set aside as ${await putAside(file)}`;
    await make(file);
    return { database: await opened(file, use), ...maybe({ damage }) };
  } catch (error) {
    throw databaseError(file, error);
  }
}

async function opened(file: string, use: (database: DatabaseSync) => void): Promise<DatabaseSync> {
  const { DatabaseSync } = await import('node:sqlite');
  const database = new DatabaseSync(file);
  try {
    // Exclusive: a second Core on this folder is refused, and no memory is shared by a file. A killed process loses
    // nothing; a put that is to survive a loss of power is synced outside of the event loop, see Store.sync().
    database.exec(
      `PRAGMA locking_mode=EXCLUSIVE; PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=${CHECKPOINT_PAGES}; PRAGMA secure_delete=OFF`,
    );
    use(database);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

async function make(file: string): Promise<void> {
  const { DatabaseSync } = await import('node:sqlite');
  const made = `${file}.${process.pid}-new.tmp`;
  await removeAll(made);
  try {
    await (await open(made, 'wx', 0o600)).close();
    const database = new DatabaseSync(made);
    try {
      database.exec(`PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF; PRAGMA application_id=${APPLICATION}; ${TABLES}`);
      database.exec(`PRAGMA user_version=${FORM}; PRAGMA journal_mode=WAL`);
    } finally {
      database.close();
    }
    const handle = await open(made, 'r');
    await handle.sync().finally(() => handle.close());
    for (const more of BESIDE) await rm(file + more, { force: true }); // of one that is gone
    await rename(made, file);
    await syncName(file);
  } catch (error) {
    await removeAll(made).catch(() => undefined); // the first error tells
    throw error;
  }
}

const BESIDE = ['-wal', '-shm', '-journal'];

/** With what belongs to it. */
export async function removeAll(file: string): Promise<void> {
  for (const more of [...BESIDE, '']) await rm(file + more, { force: true });
}

async function putAside(file: string): Promise<string> {
  const aside = await setAside(file);
  for (const more of BESIDE)
    await rename(file + more, aside + more).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
  return aside;
}

/** Files of all queues in a folder. */
export async function filesIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw storageError(folder, error);
  });
  return names.filter((name) => name.endsWith(ENDING)).map((name) => join(folder, name));
}
