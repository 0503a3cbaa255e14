/**
 * The one writer of files that are replaced as a whole. Each write has a temporary file of its own, synced and renamed;
 * a file is whole at any moment. Writes to one file follow each other: of those that wait only the newest is written,
 * for it says what they all say.
 */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { setAside } from './aside.ts';
import { Descriptor } from './descriptor.ts';
import { settled, syncName, temporaryName } from './names.ts';
import { storageError } from './storage-error.ts';

export interface ReplaceOptions {
  /** Permissions of the file, 0600 if absent. */
  readonly mode?: number;
  /** False for what is worth nothing after a loss of power: files below `<run>`. */
  readonly sync?: boolean;
  /** The same contents as `<file>.last-good`, renamed first. */
  readonly lastGood?: boolean;
  /** Files of the same folder that belong to it, path to contents: renamed before it. */
  readonly beside?: Readonly<Record<string, string>>;
}

type Contents = string | Uint8Array;

interface Job {
  contents: Contents;
  options: ReplaceOptions;
  readonly done: PromiseWithResolvers<void>;
}

interface Lane {
  readonly since: number;
  next?: Job;
}

/** Files that are being written in this thread, and since when. */
const lanes = new Map<string, Lane>();

/**
 * Replaces a file; durable when it resolves, its name included. Rejects with STORAGE_FULL, STORAGE_READ_ONLY,
 * STORAGE_FAILED or STATE_UNWRITABLE: then the file is what it was, or, after a failed sync of its folder, one of the
 * two.
 */
export function replaceFile(path: string, contents: Contents, options: ReplaceOptions = {}): Promise<void> {
  const file = resolve(path);
  const lane = lanes.get(file);
  if (lane?.next) {
    lane.next.contents = contents;
    lane.next.options = options;
    return lane.next.done.promise;
  }
  const job: Job = { contents, options, done: Promise.withResolvers<void>() };
  if (lane) lane.next = job;
  else void work(file, job);
  return job.done.promise;
}

/** Milliseconds for which the oldest write of this thread has been waiting for the disk; 0 while there is none. */
export function waitingForDiskMs(now = performance.now()): number {
  let most = 0;
  for (const { since } of lanes.values()) most = Math.max(most, now - since);
  return most;
}

async function work(file: string, first: Job): Promise<void> {
  for (let job: Job | undefined = first; job; ) {
    const lane: Lane = { since: performance.now() };
    lanes.set(file, lane);
    const { contents, options, done } = job;
    await write(file, contents, options).then(done.resolve, (thrown) => done.reject(storageError(file, thrown)));
    job = lane.next;
  }
  lanes.delete(file);
}

async function write(file: string, contents: Contents, options: ReplaceOptions): Promise<void> {
  const { mode = 0o600, sync = true, lastGood = false, beside = {} } = options;
  const targets: (readonly [path: string, contents: Contents])[] = [
    ...Object.entries(beside),
    ...(lastGood ? [[`${file}.last-good`, contents] as const] : []),
    [file, contents],
  ];
  const made = targets.map(([path, text]) => ({ path, text, temporary: temporaryName(path) }));
  try {
    const outcomes = await Promise.allSettled(made.map(({ temporary, text }) => create(temporary, text, mode, sync)));
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
    for (const { temporary, path } of made)
      await rename(temporary, path).catch((error) => overFolder(error, temporary, path));
  } catch (error) {
    for (const { temporary } of made) await rm(temporary, { force: true }).catch(() => undefined); // swept at the next start
    throw error;
  } finally {
    for (const { temporary } of made) settled(temporary);
  }
  if (sync) await syncName(file);
}

/** A folder in the place of the file keeps its contents under another name, for whoever put it there. */
async function overFolder(error: NodeJS.ErrnoException, temporary: string, path: string): Promise<void> {
  if (error.code !== 'EISDIR') throw error;
  await setAside(path);
  await rename(temporary, path);
}

async function create(path: string, contents: Contents, mode: number, sync: boolean): Promise<void> {
  using file = await Descriptor.open(path, 'new', mode, sync);
  await file.write(typeof contents === 'string' ? Buffer.from(contents) : contents);
}

/** The same at once, for what must be there before the next step of the caller. Throws the same codes. Not in a turn with others. */
export function replaceFileSync(
  path: string,
  contents: string,
  options: Pick<ReplaceOptions, 'mode' | 'sync'> = {},
): void {
  const { mode = 0o600, sync = true } = options;
  const temporary = temporaryName(path);
  try {
    const file = openSync(temporary, 'wx', mode);
    try {
      const bytes = Buffer.from(contents);
      for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
      if (sync) fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
    if (sync) syncFolder(dirname(path));
  } catch (error) {
    rmSync(temporary, { force: true });
    throw storageError(path, error);
  } finally {
    settled(temporary);
  }
}

function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
