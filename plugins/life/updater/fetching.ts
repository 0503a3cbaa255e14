/** From what a source offers to the other slot: found, looked at, fetched, staged. */
import { open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';
import { CoreError, maybe, reasonOf } from '@device-core/plugin-api';
import { makeFolder, replaceFile } from '@device-core/plugin-api/durable';
import {
  IMAGE_LIST,
  IMAGE_SIGNATURE,
  type Image,
  type ImageFile,
  imageHash,
  parseImage,
} from '@device-core/plugin-api/inside/image';
import type { Slots, SlotsStatus } from '@device-core/plugin-api/inside/services/slots';
import { compare } from '@device-core/plugin-api/inside/versions';
import { asksOf, LONGEST_MANIFEST, manifestsOf } from './asks.ts';
import { bytesToFetch, download, roomFor, sweep } from './download.ts';
import { FolderSource } from './folder-source.ts';
import type { Parts } from './parts.ts';
import { belowFloor } from './policy.ts';
import type { Wanted } from './record.ts';
import type { Blob, Offer, Source } from './repository.ts';

const MB = 1 << 20;
/** Between two tries of one blob. */
const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 60_000;
const unzstd = promisify(zstdDecompress);

export const blobsOf = ({ folder }: Parts): string => join(folder, 'blobs');

/** A folder or an archive. Throws SYSTEM_IMAGE_INVALID. */
export async function sourceAt(path: string): Promise<Source> {
  try {
    await using file = await open(path, 'r');
    if ((await file.stat()).isDirectory()) return new FolderSource(path);
    // Most starts install nothing from an archive.
    const { ArchiveSource } = await import('./archive-source.ts');
    return new ArchiveSource(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // PrivateTmp of its unit: what lies there for everybody else is not there for the Core.
    const own = code === 'ENOENT' && /^\/(var\/)?tmp\//.test(path);
    const reason = own
      ? `${message}; a Core that runs as a service has a private /tmp and /var/tmp: put the file elsewhere, or send it with devicectl --device`
      : message;
    throw new CoreError('SYSTEM_IMAGE_INVALID', { source: path, reason }, { cause: error });
  }
}

/** Throws SLOTS_UNAVAILABLE. */
export function needSlots({ services: { slots } }: Parts, verb: string): Slots {
  if (slots) return slots;
  throw new CoreError('SLOTS_UNAVAILABLE', { verb, reason: 'no plugin provides slots' });
}

export interface Found {
  readonly wanted: Wanted;
  readonly slots: SlotsStatus;
  readonly missing: readonly Blob[];
  readonly compressed: ReadonlyMap<string, number>;
}

export interface Looking {
  readonly channel?: string;
  readonly downgrade?: boolean;
  readonly signal: AbortSignal;
}

/**
 * Takes up what a source offers, where it is something new: its list has been looked at by whoever owns the slots, and
 * lies in its place. Resolves with a sentence where there is nothing new. Throws as `Source.newest`, `Slots.inspect`,
 * and the codes of a disk.
 */
export async function find(
  parts: Parts,
  source: Source,
  { channel, downgrade, signal }: Looking,
): Promise<Found | string> {
  const { folder, journal } = parts;
  const slots = needSlots(parts, 'look for an update');
  const offer = await source.newest(channel ?? '', signal);
  if (!offer) return `channel ${channel} has no image for this device`;
  const image = listOf(offer, source);
  const hash = imageHash(offer.list);
  const status = await slots.status();
  const running = status.slots.find(({ booted }) => booted);
  if (running?.image === hash) return `${image.version} runs already`;
  const former = journal.record.wanted;
  if (source.kind === 'repository') {
    if (running?.version !== undefined && compare(image.version, running.version) < 0)
      return `${image.version} is older than ${running.version}, which runs`;
    if (former?.image === hash && ['available', 'staged', 'waiting'].includes(journal.record.before ?? '')) {
      await journal.note({ wanted: { ...former, ...saidOf(offer) } });
      return `${image.version} is known already`;
    }
  }
  // Apart from the image that is being gone on with, until its owner has agreed to it.
  const place = join(folder, 'new');
  await rm(place, { recursive: true, force: true });
  await makeFolder(join(place, 'blobs'));
  await writeList(place, offer);
  const { missing } = await slots.inspect(place).catch((error: CoreError) => {
    const low = error.code === 'SYSTEM_IMAGE_INVALID' && belowFloor(image.version, status.floor.version);
    if (!low) throw error;
    throw new CoreError('UPDATE_REFUSED', { verb: 'install', reason: low, rule: 'floor' }, { cause: error });
  });
  const asks = await asksFor(parts, image, missing, { source, offer, signal });
  await writeList(folder, offer);
  await rm(place, { recursive: true, force: true });
  const known = former?.image === hash ? former : undefined;
  const wanted: Wanted = {
    version: image.version,
    image: hash,
    severity: image.severity,
    kind: source.kind,
    source: source.name,
    ...maybe({ channel }),
    since: offer.publishedAt ?? known?.since ?? parts.clock.now(),
    ...saidOf(offer),
    ...(downgrade && { downgrade }),
    ...maybe({ notes: image.notes }),
    asks,
    ...(known?.accepted !== undefined && { accepted: known.accepted }),
  };
  return { wanted, slots: status, missing, compressed: offer.compressed };
}

const saidOf = ({ rollout, withdrawn }: Offer) => ({
  ...maybe({ rollout, withdrawn }),
});

function listOf({ list }: Offer, { name }: Source): Image {
  try {
    return parseImage(list);
  } catch (error) {
    throw new CoreError('SYSTEM_IMAGE_INVALID', { source: name, reason: (error as Error).message }, { cause: error });
  }
}

/** The list comes last: without it there is no image. */
async function writeList(folder: string, { list, signatures }: Offer): Promise<void> {
  await rm(join(folder, IMAGE_LIST), { force: true });
  await replaceFile(join(folder, IMAGE_SIGNATURE), signatures);
  await replaceFile(join(folder, IMAGE_LIST), list);
}

/** Manifests that are new are fetched before any rule is asked: one that is too long is refused, or what it asks for would not be seen. */
async function asksFor(
  parts: Parts,
  image: Image,
  missing: readonly Blob[],
  { source, offer, signal }: { readonly source: Source; readonly offer: Offer; readonly signal: AbortSignal },
): Promise<Wanted['asks']> {
  const lacking = new Set(missing.map(({ sha256 }) => sha256));
  const all = manifestsOf(image);
  const long = all.find(({ size }) => size > LONGEST_MANIFEST);
  if (long) {
    const reason = `${long.path} has ${long.size} bytes, and a manifest has at most ${LONGEST_MANIFEST}`;
    throw new CoreError('SYSTEM_IMAGE_INVALID', { source: source.name, reason });
  }
  const manifests = all.filter(({ sha256 }) => lacking.has(sha256));
  await download(
    manifests,
    downloading(parts, source, offer.compressed, signal, () => undefined),
  );
  const read = async ({ sha256 }: ImageFile): Promise<string | undefined> => {
    if (!lacking.has(sha256)) return undefined;
    const blob = await readFile(join(blobsOf(parts), `${sha256}.zst`));
    return (await unzstd(blob, { maxOutputLength: LONGEST_MANIFEST })).toString('utf8');
  };
  return asksOf(image, read);
}

function downloading(
  parts: Parts,
  source: Source,
  compressed: ReadonlyMap<string, number>,
  signal: AbortSignal,
  progress: (done: number, of: number) => void,
) {
  const pauseMs = (nth: number) => Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (nth - 1));
  const pause = (nth: number) => parts.clock.sleep(pauseMs(nth), signal);
  const { tries } = parts.config;
  const failed = (err: CoreError, nth: number) => {
    parts.log.warn({ err, try: nth, of: tries }, 'a file of the update is asked for again');
    const at = parts.clock.now() + pauseMs(nth);
    parts.journal.again({ failed: nth, of: tries, at, reason: reasonOf(err) });
  };
  return { source, compressed, signal, progress, pause, failed, folder: blobsOf(parts), tries };
}

/** The image whose list lies there; undefined where it is another one, or damaged. */
export async function keptImage({ folder }: Parts, hash: string): Promise<Image | undefined> {
  try {
    const list = await readFile(join(folder, IMAGE_LIST));
    return imageHash(list) === hash ? parseImage(list) : undefined;
  } catch {
    return undefined; // it is fetched anew
  }
}

export interface Fetching {
  readonly bytes: number;
  readonly room: number;
}

/** Bytes left to fetch for the wanted image, and the free space. */
export async function toFetch(
  parts: Parts,
  missing: readonly Blob[],
  compressed: ReadonlyMap<string, number>,
): Promise<Fetching> {
  const { maxMB, keepFreeMB } = parts.config;
  const { bytes } = await bytesToFetch(blobsOf(parts), missing, compressed);
  return { bytes, room: await roomFor(blobsOf(parts), maxMB * MB, keepFreeMB * MB) };
}

/** Fetches what is missing; nothing else stays among the blobs. Throws as download(). */
export async function fetchAll(
  parts: Parts,
  {
    source,
    compressed,
    missing,
    signal,
  }: {
    readonly source: Source;
    readonly compressed: ReadonlyMap<string, number>;
    readonly missing: readonly Blob[];
    readonly signal: AbortSignal;
  },
): Promise<void> {
  await sweep(blobsOf(parts), new Set(missing.map(({ sha256 }) => sha256)));
  const progress = (done: number, of: number) => parts.journal.progress(done, of);
  await download(missing, downloading(parts, source, compressed, signal, progress));
}

/** Nothing of it is needed any more: it is in a slot, or not wanted. */
export const sweepAll = (parts: Parts): Promise<void> => sweep(blobsOf(parts), new Set());
