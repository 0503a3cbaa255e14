/** Updates from a repository: static files of any web server, believed by TUF and by nothing else. */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';
import { storageError } from '@device-core/plugin-api/durable';
import { type Image, imageHash, LONGEST_LIST, parseImage } from '@device-core/plugin-api/inside/image';
import { PACKAGE_OFFERS, type PackageNoun } from '@device-core/plugin-api/inside/packages';
import { Serial } from '@device-core/plugin-api/inside/serial';
import { compare, isVersion } from '@device-core/plugin-api/inside/versions';
import type {
  Blob,
  BlobOptions,
  Offer,
  OfferedPackage,
  OpenRepository,
  PackageOptions,
  PackageSource,
  RepositoryOptions,
} from '../repository.ts';
import { KeptMetadata } from './kept-metadata.ts';
import { type Channel, look, NoChannel, type TargetFile } from './look.ts';
import { measured, packagesIn } from './packages.ts';
import { Requests } from './requests.ts';

const unpack = promisify(zstdDecompress);
const { O_WRONLY, O_CREAT, O_APPEND, O_TRUNC } = constants;

const LIST = 'image.json.zst';
/** Longest of each file, bytes, as it travels. */
const MOST: Readonly<Record<string, number>> = { [LIST]: 16 << 20, 'image.sig': 64 << 10, 'blobs.json': 2 << 20 };

class Repository implements PackageSource {
  readonly kind = 'repository';
  readonly #options: RepositoryOptions;
  readonly #requests: Requests;
  readonly #kept: KeptMetadata;
  /** The last offer, by the hash of its list as it travels. */
  #last: { readonly key: string; readonly offer: Offer } | undefined;
  /** One look after the other: they share a folder. */
  readonly #turns = new Serial();

  constructor(options: RepositoryOptions) {
    this.#options = options;
    this.#requests = new Requests(options);
    this.#kept = new KeptMetadata(options.folder);
    options.scope.use('connections to the repository', this.#requests);
  }

  get name(): string {
    return this.#requests.name;
  }

  newest(channel: string, signal: AbortSignal): Promise<Offer | undefined> {
    return this.#look(channel, signal, (found) => this.#offer(found, channel, signal));
  }

  async packages(noun: PackageNoun, signal: AbortSignal): Promise<readonly OfferedPackage[]> {
    const { channel } = PACKAGE_OFFERS[noun];
    try {
      return await this.#look(channel, signal, (found) => packagesIn(noun, found));
    } catch (error) {
      if (error instanceof NoChannel) return []; // a repository of images alone
      throw error;
    }
  }

  #look<T>(channel: string, signal: AbortSignal, take: (found: Channel) => Promise<T>): Promise<T> {
    return this.#turns.run(() => this.#lookNow(channel, signal, take));
  }

  async #lookNow<T>(channel: string, signal: AbortSignal, take: (found: Channel) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const { root, log } = this.#options;
    const time = await this.#options.time();
    try {
      const requests = this.#requests;
      const found = await look({ requests, kept: this.#kept, root, channel, time, signal, log });
      return await take(found);
    } finally {
      this.#requests.idle();
    }
  }

  async #offer(found: Channel, channel: string, signal: AbortSignal): Promise<Offer | undefined> {
    const { sku, platform } = this.#options;
    const place = `${channel}/${sku}/${platform.os}-${platform.arch}-${platform.libc}/`;
    const versions = found.paths
      .filter((path) => path.startsWith(place) && path.endsWith(`/${LIST}`))
      .map((path) => path.slice(place.length, -LIST.length - 1))
      .filter(isVersion)
      .sort(compare);
    const version = versions.at(-1);
    if (version === undefined) return undefined;
    const target = async (name: string): Promise<TargetFile> => {
      const one = await found.target(`${place}${version}/${name}`);
      if (one === undefined) throw this.#requests.untrusted(`${channel} names no ${name} of ${version}`);
      return one;
    };
    const list = await target(LIST);
    const { publishedAt, rollout, withdrawn } = list.custom;
    const said = {
      ...(Number.isSafeInteger(publishedAt) && { publishedAt: Number(publishedAt) * 1000 }),
      ...(typeof rollout === 'number' && { rollout }),
      ...(typeof withdrawn === 'string' && { withdrawn: withdrawn.slice(0, 200) }),
    };
    const key = String(list.hashes.sha256);
    if (this.#last?.key !== key) {
      const parts = { list, signatures: await target('image.sig'), blobs: await target('blobs.json') };
      this.#last = { key, offer: await this.#fetch(parts, version, signal) };
    }
    return { ...this.#last.offer, ...said };
  }

  async #fetch(
    parts: { readonly list: TargetFile; readonly signatures: TargetFile; readonly blobs: TargetFile },
    version: string,
    signal: AbortSignal,
  ): Promise<Offer> {
    const packed = await this.#target(parts.list, LIST, signal);
    const list = await unpack(packed, { maxOutputLength: LONGEST_LIST }).catch((error: Error) => {
      throw this.#requests.untrusted(`the list of ${version} cannot be unpacked: ${error.message}`, error);
    });
    const image = this.#imageOf(list, version, parts.list.custom.image);
    const signatures = (await this.#target(parts.signatures, 'image.sig', signal)).toString('utf8');
    const sizes = await this.#target(parts.blobs, 'blobs.json', signal);
    return { list, signatures, compressed: this.#compressed(sizes, image) };
  }

  /** The channel's word about a list must fit the list: it was signed for this SKU, platform and version. */
  #imageOf(list: Uint8Array, version: string, hash: unknown): Image {
    const { sku, platform } = this.#options;
    let image: Image;
    try {
      image = parseImage(list);
    } catch (error) {
      throw this.#requests.untrusted(`the list of ${version} is none: ${(error as Error).message}`, error);
    }
    const { os, arch, libc } = image.platform;
    const same = image.sku === sku && os === platform.os && arch === platform.arch && libc === platform.libc;
    if (same && image.version === version && hash === imageHash(list)) return image;
    throw this.#requests.untrusted(
      `the list of ${version} is of ${image.sku} ${image.version} for ${os}-${arch}-${libc}`,
    );
  }

  #compressed(sizes: Buffer, { files }: Image): ReadonlyMap<string, number> {
    let bytes: unknown;
    try {
      bytes = Object(JSON.parse(sizes.toString('utf8'))).bytes;
    } catch (error) {
      throw this.#requests.untrusted('blobs.json cannot be read', error);
    }
    const fits =
      Array.isArray(bytes) &&
      bytes.length === files.length &&
      bytes.every((one) => Number.isSafeInteger(one) && one > 0);
    if (!fits) throw this.#requests.untrusted('blobs.json is of another list');
    return new Map(files.map(({ sha256 }, index) => [sha256, (bytes as readonly number[])[index] ?? 0]));
  }

  /** A target, as long as and with the hash that its role says. */
  async #target(target: TargetFile, name: string, signal: AbortSignal): Promise<Buffer> {
    const { path, length, hashes } = target;
    const { sha256 = '' } = hashes;
    if (length > (MOST[name] ?? 0))
      throw this.#requests.untrusted(`${name} has ${length} bytes, more than ${MOST[name]}`);
    const bytes = await this.#requests.bytes(addressOf(path, sha256), { most: length, signal });
    if (bytes.length < length) throw this.#requests.failed(`${name} ended after ${bytes.length} of ${length} bytes`);
    if (createHash('sha256').update(bytes).digest('hex') === sha256) return bytes;
    throw this.#requests.untrusted(`${name} has another content than its role says`);
  }

  async fetchBlob({ sha256 }: Blob, to: string, { from, most, signal, took }: BlobOptions): Promise<void> {
    await this.#fetchTo(to, `blobs/${sha256}.zst`, { from, most, signal }, took);
  }

  async fetchPackage({ path, bytes, sha256 }: OfferedPackage, to: string, options: PackageOptions): Promise<void> {
    const { signal } = options;
    // A complete file may be left from a fetch that was cut off before its check.
    if (options.from < bytes)
      await this.#fetchTo(to, addressOf(path, sha256), { from: options.from, most: bytes, signal });
    const found = await measured(to, signal);
    if (found.bytes < bytes) throw this.#requests.failed(`${path} ended after ${found.bytes} of ${bytes} bytes`);
    if (found.sha256 === sha256) return;
    await rm(to, { force: true });
    throw this.#requests.untrusted(`${path} has another content than its role says`);
  }

  /** Appends to a file, or makes it anew. */
  async #fetchTo(
    to: string,
    address: string,
    wanted: PackageOptions & { readonly most: number },
    took?: (bytes: number) => void,
  ): Promise<void> {
    let file: Awaited<ReturnType<typeof open>> | undefined;
    const written = async <T>(work: () => Promise<T>): Promise<T> => {
      try {
        return await work();
      } catch (error) {
        throw storageError(to, error);
      }
    };
    const begin = async (first: number): Promise<void> => {
      file = await written(() => open(to, O_WRONLY | O_CREAT | (first > 0 ? O_APPEND : O_TRUNC), 0o600));
    };
    try {
      await this.#requests.read(address, { ...wanted, begin }, async (chunk) => {
        await written(() => file!.appendFile(chunk));
        took?.(chunk.length);
      });
    } finally {
      await file?.close();
    }
  }
}

/** Path of a target below the repository: named by its content, so that it never changes. */
function addressOf(path: string, sha256: string): string {
  const at = path.lastIndexOf('/') + 1;
  const parts = [...path.slice(0, at).split('/'), `${sha256}.${path.slice(at)}`].filter((part) => part !== '');
  return `targets/${parts.map(encodeURIComponent).join('/')}`;
}

export const openRepository: OpenRepository = (options) => new Repository(options);
