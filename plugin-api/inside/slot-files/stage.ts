/**
 * The other slot becomes a true copy of an image. Every call is one of the disk's own, in an order that a loss of power
 * may cut anywhere (docs/adr/0126).
 */
import {
  chmodSync,
  fchmodSync,
  constants as fs,
  fsyncSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statfsSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { differenceOf, IMAGE_LIST, IMAGE_SIGNATURE, type Image, type ImageFile } from '../image.ts';
import { type Copying, copyBlob, copyPlain } from './copy.ts';
import type { Judged } from './judge.ts';
import { NoFile, Opened } from './plain-files.ts';
import { SlotRefused } from './refused.ts';

export interface Staging extends Judged {
  /** Folder of both slots. */
  readonly slots: string;
  readonly target: 'a' | 'b';
  /** Running slot, with its list: equal files are taken from there. */
  readonly running?: { readonly folder: string; readonly image: Image } | undefined;
  /** Folder that holds `blobs`. */
  readonly source: Opened;
  /** As they were read, once. */
  readonly list: Buffer;
  readonly signatures: Buffer;
  /** It is waited for. */
  readonly progress: (done: number) => void | Promise<void>;
  readonly signal?: AbortSignal | undefined;
}

/** Others get their turn after so many bytes, or files. */
const TURN_BYTES = 4 << 20;
const TURN_FILES = 64;
const BLOCK = 4_096;

export const bytesOf = ({ files }: Image): number => files.reduce((sum, { size }) => sum + size, 0);

/** Throws STORAGE_FULL unless there is room for the image and a tenth more, the slot that will be written counted as free. */
export function askForRoom({ slots, target, image, list }: Pick<Staging, 'slots' | 'target' | 'image' | 'list'>): void {
  const wanted = image.files.reduce((sum, { size }) => sum + Math.ceil(size / BLOCK) * BLOCK, list.length) * 1.1;
  const { bavail, bsize, files, ffree } = statfsSync(slots);
  const free = bavail * bsize + used(join(slots, target)) + used(join(slots, `${target}.new`));
  if (free < wanted) throw new SlotRefused('STORAGE_FULL', `${Math.ceil(wanted)} bytes are wanted, ${free} are free`);
  if (files > 0 && ffree < 16) throw new SlotRefused('STORAGE_FULL', 'the file system holds no more files');
}

function used(path: string): number {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return 0;
  const inside = stat.isDirectory() ? readdirSync(path).map((name) => used(join(path, name))) : [];
  return inside.reduce((sum, one) => sum + one, stat.blocks * 512);
}

/** Removes what lay in the slot, and what an attempt that was cut off left beside it. */
export function clear(slots: string, target: string): void {
  for (const name of [target, `${target}.new`]) rmSync(join(slots, name), { recursive: true, force: true });
  syncFolder(slots);
}

/**
 * Throws SYSTEM_IMAGE_INVALID, CANCELLED and what the file system says. The slot's own folder is there at the end,
 * whole, or not at all.
 */
export async function writeSlot(staging: Staging): Promise<void> {
  const { slots, target, image, list, signatures } = staging;
  const beside = join(slots, `${target}.new`);
  const folders = foldersOf(image);
  for (const folder of ['.', ...folders]) makeFolder(join(beside, folder));
  await copyFiles(staging, beside);
  for (const folder of folders.toReversed()) syncFolder(join(beside, folder));
  writeNew(join(beside, IMAGE_LIST), list);
  writeNew(join(beside, IMAGE_SIGNATURE), signatures);
  syncFolder(beside);
  const wrong = differenceOf(beside, image) ?? misread(beside, staging);
  if (wrong !== undefined)
    throw new SlotRefused('STORAGE_FAILED', `what was written is not what is read: ${wrong.message}`);
  renameSync(beside, join(slots, target));
  syncFolder(slots);
}

/** Each above what is in it. */
function foldersOf({ files }: Image): readonly string[] {
  const found = new Set<string>();
  const add = (folder: string): void => {
    if (folder === '.' || found.has(folder)) return;
    add(dirname(folder));
    found.add(folder);
  };
  for (const { path } of files) add(dirname(path));
  return [...found];
}

const { gc: collect } = globalThis as { readonly gc?: (options: { readonly type: 'minor' }) => void };

async function copyFiles(staging: Staging, beside: string): Promise<void> {
  const { image, source, running, progress, signal } = staging;
  const near = new Map(running?.image.files.map((file) => [file.sha256, file.path]));
  let done = 0;
  let since = 0;
  const told = async (): Promise<void> => {
    await progress(done);
    await turn(signal);
    // Buffers of decompressed blobs are outside of the heap: without this 75 MiB of them pile up. The helper has it, by --expose-gc.
    collect?.({ type: 'minor' });
  };
  const moved = (bytes: number): Promise<void> | undefined => {
    done += bytes;
    since += bytes;
    if (since < TURN_BYTES) return undefined;
    since = 0;
    return told();
  };
  const copying: Copying = { buffer: Buffer.allocUnsafeSlow(1 << 18), moved };
  using blobs = tryOpen(() => source.folder('blobs'));
  for (const [at, file] of image.files.entries()) {
    const place = join(beside, file.path);
    const before = done;
    const path = near.get(file.sha256);
    if (path === undefined || !(await fromRunning(join(running!.folder, path), place, file, copying))) {
      // A copy that was given up counts for nothing.
      done = before;
      using blob = openBlob(blobs, file);
      await copyBlob(blob, place, file, copying);
    }
    if (at % TURN_FILES === 0) await told();
  }
  await told();
}

/** False where the file is not what the list of the slot that runs says; the blob may be there all the same. */
async function fromRunning(path: string, place: string, file: ImageFile, copying: Copying): Promise<boolean> {
  using from = tryOpen(() => new Opened(path, fs.O_RDONLY | fs.O_NOFOLLOW | fs.O_NONBLOCK));
  if (from === undefined) return false;
  try {
    await copyPlain(from, place, file, copying);
    return true;
  } catch (error) {
    if (error instanceof SlotRefused && error.code === 'SYSTEM_IMAGE_INVALID') return false;
    throw error;
  }
}

function openBlob(blobs: Opened | undefined, { sha256, path }: ImageFile): Opened {
  const blob = tryOpen(() => blobs?.file(`${sha256}.zst`));
  if (blob !== undefined) return blob;
  throw new SlotRefused(
    'SYSTEM_IMAGE_INVALID',
    `${path}: neither the slot that runs has it, nor is there a blob of it`,
  );
}

const NOT_IT: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'ENXIO']);

/** Undefined for what is not there, or is no file: a link, a folder, a pipe, a socket. */
function tryOpen(open: () => Opened | undefined): Opened | undefined {
  try {
    return open();
  } catch (error) {
    if (error instanceof NoFile || NOT_IT.has((error as NodeJS.ErrnoException).code)) return undefined;
    throw error;
  }
}

async function turn(signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((resolve) => void setImmediate(resolve));
  if (signal?.aborted) throw new SlotRefused('CANCELLED', 'the caller went away');
}

function writeNew(path: string, bytes: Uint8Array): void {
  using file = new Opened(path, fs.O_WRONLY | fs.O_CREAT | fs.O_EXCL | fs.O_NOFOLLOW, 0o644);
  for (let at = 0; at < bytes.length; ) at += writeSync(file.fd, bytes, at, bytes.length - at);
  fchmodSync(file.fd, 0o644);
  fsyncSync(file.fd);
}

/** Every user may read it, under any umask. */
function makeFolder(path: string): void {
  mkdirSync(path);
  chmodSync(path, 0o755);
}

function misread(folder: string, { list, signatures }: Staging): Error | undefined {
  using there = Opened.folder(folder);
  const same =
    there.read(IMAGE_LIST, list.length).equals(list) &&
    there.read(IMAGE_SIGNATURE, signatures.length).equals(signatures);
  return same ? undefined : new Error('its list is another');
}

function syncFolder(path: string): void {
  using folder = new Opened(path, fs.O_RDONLY | fs.O_DIRECTORY);
  fsyncSync(folder.fd);
}
