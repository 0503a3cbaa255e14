/** One look into a repository: its metadata by TUF, and what tuf-js leaves to others: time, sizes, and files that are none. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CoreError, isNestedDeeperThan, type Logger } from '@device-core/plugin-api';
import { storageError } from '@device-core/plugin-api/durable';
import { packageLater } from '@device-core/plugin-api/inside/lazy-package';
import { PACKAGE_OFFERS } from '@device-core/plugin-api/inside/packages';
import type { TargetFile } from 'tuf-js';
import type { KnownTime } from '../repository.ts';
import type { Files, KeptMetadata } from './kept-metadata.ts';
import { Absent, type Requests } from './requests.ts';

const tuf = packageLater<typeof import('tuf-js')>('tuf-js', import.meta.url);
const tufErrors = packageLater<typeof import('tuf-js/dist/error.js')>('tuf-js/dist/error.js', import.meta.url);

/**
 * Bytes. What is read is parsed before its signature is looked at, in a time that grows with the square of it: 128 KiB
 * take 64 ms, 512 KiB six seconds.
 */
const MOST = {
  root: 64 << 10,
  timestamp: 16 << 10,
  snapshot: 64 << 10,
  targets: 64 << 10,
  channel: 128 << 10,
} as const;
const MOST_DEPTH = 12;
const CONFIG = {
  rootMaxLength: MOST.root,
  timestampMaxLength: MOST.timestamp,
  snapshotMaxLength: MOST.snapshot,
  targetsMaxLength: MOST.channel,
  maxDelegations: 8,
  maxRootRotations: 64,
};
const TOP = ['root', 'timestamp', 'snapshot', 'targets'] as const;

export interface LookOptions {
  readonly requests: Requests;
  readonly kept: KeptMetadata;
  /** Path of the first root. */
  readonly root: string;
  readonly channel: string;
  readonly time: KnownTime;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/** Custom data of a target, signed by its role. */
export type Custom = Readonly<Record<string, unknown>>;

export interface Channel {
  /** Paths of all targets that it names. */
  readonly paths: readonly string[];
  /** The target, if TUF trusts it. */
  target(path: string): Promise<TargetFile | undefined>;
}

interface Signed {
  readonly signed: {
    readonly version?: unknown;
    readonly expires?: unknown;
    readonly targets?: Readonly<Record<string, unknown>>;
    readonly delegations?: { readonly roles?: readonly { readonly name?: unknown }[] };
  };
}

/** Metadata that a look received, and the failure that ended it. */
interface Seen {
  /** By the name of the file without its version; the newest of each. */
  readonly bodies: Map<string, Buffer>;
  failure?: CoreError;
}

/** No channel of this name is signed for. */
export class NoChannel extends CoreError {
  constructor(url: string, channel: string, channels: readonly string[]) {
    super('REPOSITORY_FAILED', {
      url,
      reason: `it has no channel ${channel}; it has ${channels.join(', ') || 'none'}`,
    });
  }
}

/** A channel as it is now. Rejects with NoChannel, REPOSITORY_UNTRUSTED, REPOSITORY_FAILED, UPDATE_REFUSED, and the codes of a disk. */
export async function look(options: LookOptions): Promise<Channel> {
  const { kept, channel } = options;
  const before = await known(options);
  await kept.begin(before);
  const seen: Seen = { bodies: new Map() };
  try {
    const { Updater } = tuf();
    const updater = new Updater({
      metadataDir: kept.next,
      metadataBaseUrl: 'http://metadata.invalid/',
      config: CONFIG,
      fetcher: fetcher(options, seen),
    });
    await updater.refresh();
    await updater.getTargetInfo(emptyPathOf(channel));
    const file = `${channel}.json`;
    const roles = [...TOP.map((role) => `${role}.json`), file];
    const found = await stillGood(options, roles);
    await kept.keep(before);
    const names = Object.keys(found.get(file)?.signed.targets ?? {});
    if (!found.has(file)) throw new NoChannel(options.requests.name, channel, imageChannels(found.get('targets.json')));
    return { paths: names, target: (path) => updater.getTargetInfo(path) };
  } catch (error) {
    await kept.keepValid(before);
    options.signal.throwIfAborted();
    throw reasonOf(error, options, seen);
  }
}

function imageChannels(targets: Signed | undefined): readonly string[] {
  const packages = new Set<string>(Object.values(PACKAGE_OFFERS).map(({ channel }) => channel));
  const roles = targets?.signed.delegations?.roles ?? [];
  return roles.map(({ name }) => String(name)).filter((name) => !packages.has(name));
}

/** A path that the channel speaks for, and that nothing lies at: asking for it reads the channel. */
function emptyPathOf(channel: string): string {
  const packages = Object.values(PACKAGE_OFFERS).some((offers) => offers.channel === channel);
  return packages ? `${channel}/-/-/-` : `${channel}/-/-/-/-`;
}

/** Metadata of the last look, or the first root. */
async function known({ kept, root, requests, log }: LookOptions): Promise<Files> {
  let first: Buffer;
  try {
    first = readFileSync(root);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? `put the first root.json of the repository at ${root}` : message;
    throw requests.untrusted(`this device has no first root for it: ${why}`, error);
  }
  const files = await kept.read();
  const mine = files.get('root.json');
  if (mine === undefined) return new Map<string, Buffer>([['root.json', first]]);
  const version = versionOf(mine);
  if (version === undefined)
    log.error({}, 'the known metadata of the repository are damaged; it begins with its first root');
  // An image may bring a root that is newer: it was signed as a whole.
  if (version === undefined || (versionOf(first) ?? 0) > version)
    return new Map<string, Buffer>([...files, ['root.json', first]]);
  return files;
}

function versionOf(bytes: Buffer): number | undefined {
  try {
    const { version } = parsed(bytes).signed;
    return typeof version === 'number' ? version : undefined;
  } catch {
    return undefined; // damaged
  }
}

/** Throws for what is no metadata at all. */
function parsed(bytes: Buffer): Signed {
  const value = JSON.parse(bytes.toString('utf8')) as Partial<Signed> | null;
  if (typeof value?.signed !== 'object' || value.signed === null)
    throw new SyntaxError('it holds nothing that is signed');
  if (isNestedDeeperThan(value, MOST_DEPTH)) throw new SyntaxError('it is nested too deep');
  return value as Signed;
}

/** The way of tuf-js to the network. */
function fetcher({ requests, signal }: LookOptions, seen: Seen) {
  const read = async (name: string, most: number): Promise<Buffer> => {
    const bytes = await requests.bytes(`metadata/${name}`, { most, signal });
    try {
      parsed(bytes);
    } catch (error) {
      throw requests.failed(`${name} is no metadata: ${(error as Error).message}`, error);
    }
    seen.bodies.set(name.replace(/^\d+\./, ''), bytes);
    return bytes;
  };
  const downloadBytes = async (url: string, limit: number): Promise<Buffer> => {
    const name = new URL(url).pathname.slice(1);
    const most = /^\d+\.targets\.json$/.test(name) ? Math.min(limit, MOST.targets) : limit;
    try {
      return await read(name, most);
    } catch (error) {
      // The next root is asked for until there is none.
      if (error instanceof Absent && /^\d+\.root\.json$/.test(name))
        throw new (tufErrors().DownloadHTTPError)(error.message, error.statusCode);
      if (error instanceof CoreError) seen.failure = error;
      throw error;
    }
  };
  return { downloadBytes, downloadFile: () => Promise.reject(new Error('targets come another way')) };
}

/** tuf-js asks the clock of the system alone, which may stand wherever somebody put it. */
async function stillGood(
  { kept, time, requests }: LookOptions,
  names: readonly string[],
): Promise<Map<string, Signed>> {
  const found = new Map<string, Signed>();
  for (const name of names) {
    let bytes: Buffer;
    try {
      bytes = readFileSync(join(kept.next, name));
    } catch {
      continue; // a channel that nobody named
    }
    const file = parsed(bytes);
    const ends = Date.parse(String(file.signed.expires));
    if (!(ends > Math.max(time.now, time.floor))) throw expired(requests, name, ends, time);
    found.set(name, file);
  }
  return found;
}

function expired(requests: Requests, name: string, ends: number, { set, floor }: KnownTime): CoreError {
  const day = Number.isNaN(ends) ? 'a day that is none' : new Date(ends).toISOString().slice(0, 10);
  if (set || !(ends > floor)) return requests.untrusted(`${name} ended on ${day}`);
  const reason = `${name} of the repository ended on ${day}, if the clock is right, and it was not set`;
  return new CoreError('UPDATE_REFUSED', { verb: 'look for', reason, rule: 'clock' });
}

/** tuf-js wraps what its fetcher throws into a text of its own. */
function reasonOf(error: unknown, { requests, time, kept }: LookOptions, seen: Seen): unknown {
  if (error instanceof CoreError) return error;
  const { message } = error as Error;
  if (seen.failure !== undefined && message.includes(seen.failure.message)) return seen.failure;
  if ((error as NodeJS.ErrnoException).syscall !== undefined) return error;
  const [, disk] = /Failed to persist metadata \S+ error: Error: (E[A-Z]+)/.exec(message) ?? [];
  if (disk !== undefined) return storageError(kept.next, Object.assign(new Error(message), { code: disk }));
  if (!/ is expired/.test(message))
    return requests.untrusted(message.replace(/^(Unable to load \w+)(?: metadata)? error \w*Error: /, '$1: '), error);
  const name = /([\w.-]+\.json) is expired/.exec(message)?.[1] ?? 'metadata';
  return expired(requests, name, endOf(name, kept, seen), time);
}

/** When the file that is named ends: as it came, or as it was known before. */
function endOf(name: string, kept: KeptMetadata, { bodies }: Seen): number {
  try {
    const { expires } = parsed(bodies.get(name) ?? readFileSync(join(kept.next, name))).signed;
    return Date.parse(String(expires));
  } catch {
    return Number.NaN; // said as a day that is none
  }
}

export type { TargetFile };
