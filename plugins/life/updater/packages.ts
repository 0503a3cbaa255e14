/**
 * Packages of apps and plugins from the repository. What comes here is what its role names; what is in it is for the
 * store that takes it.
 */
import { randomUUID } from 'node:crypto';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type CallContext, CoreError, didYouMean } from '@device-core/plugin-api';
import { makeFolder, moveFile } from '@device-core/plugin-api/durable';
import { PACKAGE_OFFERS, type PackageNoun, runsOn } from '@device-core/plugin-api/inside/packages';
import { compare } from '@device-core/plugin-api/inside/versions';
import { roomFor } from './download.ts';
import type { Parts } from './parts.ts';
import { costsMoney } from './policy.ts';
import type { OfferedPackage, PackageSource } from './repository.ts';

const MB = 1 << 20;
/** Most fetched packages that wait to be installed, and their longest wait. */
const MOST_KEPT = 4;
const KEPT_MS = 3_600_000;
/** Versions that a refusal names. */
const MOST_NAMED = 5;

export interface Wanted {
  readonly id: string;
  /** Absent: the newest release. */
  readonly version?: string;
}

export interface FetchedPackage {
  /** Absolute path on the device. */
  readonly source: string;
  readonly id: string;
  readonly version: string;
  readonly bytes: number;
}

interface Fetching {
  readonly abort: AbortController;
  readonly offer: OfferedPackage;
  readonly anyway: boolean;
  readonly done: Promise<unknown>;
}

/** Platform of this device: `linux-x64`. */
const HERE = `${process.platform}-${process.arch}`;

export class Packages {
  readonly #parts: Parts;
  readonly #folder: string;
  /** Folders of what waits, the oldest first, and when each goes. */
  readonly #kept = new Map<string, Disposable>();
  /** By change. */
  readonly #fetching = new Map<string, Fetching>();

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#folder = join(parts.folder, 'packages');
    parts.scope.defer('packages under way', async () => {
      const all = [...this.#fetching.values()];
      for (const { abort } of all)
        abort.abort(new CoreError('CANCELLED', { what: 'the fetch', reason: 'the Core ends' }));
      await Promise.allSettled(all.map(({ done }) => done));
    });
  }

  /** The newest release of each package that runs here, and was not called back. Throws as find(). */
  async available(noun: PackageNoun, call: Pick<CallContext, 'signal'>): Promise<readonly OfferedPackage[]> {
    const newest = new Map<string, OfferedPackage>();
    for (const offer of await this.#offers(noun, `${noun}s`, call)) {
      const former = newest.get(offer.id);
      if (isFit(offer) && (!former || compare(former.version, offer.version) < 0)) newest.set(offer.id, offer);
    }
    return [...newest.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /**
   * Throws PACKAGE_NOT_FOUND, FETCH_REFUSED, PLATFORM_UNSUPPORTED, REPOSITORY_FAILED, REPOSITORY_UNTRUSTED, what the
   * slots throw, and the codes of a disk.
   */
  async find(noun: PackageNoun, { id, version }: Wanted, call: Pick<CallContext, 'signal'>): Promise<OfferedPackage> {
    const what = version === undefined ? `${noun} ${id}` : `${noun} ${id} ${version}`;
    const all = await this.#offers(noun, what, call);
    const versions = all.filter((offer) => offer.id === id);
    if (versions.length === 0) throw await this.#missing(what, suggested(id, all));
    const meant = versions.filter((offer) => (version === undefined ? isRelease(offer) : offer.version === version));
    const newest = meant.toSorted((a, b) => compare(a.version, b.version)).at(-1);
    if (!newest) throw await this.#missing(version === undefined ? `release of ${what}` : what, named(versions));
    const fit = meant
      .filter(isHere)
      .toSorted((a, b) => compare(a.version, b.version))
      .at(-1);
    if (fit) return fit;
    if (newest.withdrawn !== undefined) throw refused(newest, `it was called back: ${newest.withdrawn}`, 'withdrawn');
    const platforms = newest.platforms === 'any' ? newest.platforms : newest.platforms.join(', ');
    throw new CoreError('PLATFORM_UNSUPPORTED', { what, platforms, platform: HERE });
  }

  /** Throws FETCH_REFUSED where a rule says no to an order of an operator; holds and windows are for what the device does by itself. */
  async allow(offer: OfferedPackage, anyway: boolean): Promise<void> {
    const { senses, config } = this.#parts;
    const money = anyway ? undefined : costsMoney(senses.network, config);
    if (money !== undefined) throw refused(offer, `${money}; wait for another one, or say --anyway`, 'metered');
    const there = await sizeOf(this.#partOf(offer));
    const room = await roomFor(this.#folder, config.maxMB * MB, config.keepFreeMB * MB);
    if (offer.bytes - there <= room) return;
    const reason = `it has ${offer.bytes} bytes, and there is room for ${Math.max(0, room)}`;
    throw refused(offer, reason, 'space');
  }

  /** For a change. Throws as `PackageSource.fetchPackage`, and FETCH_REFUSED. */
  async fetch(offer: OfferedPackage, anyway: boolean, change: string): Promise<FetchedPackage> {
    const abort = new AbortController();
    const done = this.#fetch(offer, AbortSignal.any([abort.signal, this.#parts.scope.signal]));
    this.#fetching.set(change, { abort, offer, anyway, done });
    try {
      return await done;
    } finally {
      this.#fetching.delete(change);
    }
  }

  /** Nobody waits for it any more; what is there by then stays, so that the next one goes on. */
  async leave(change: string): Promise<void> {
    const found = this.#fetching.get(change);
    found?.abort.abort(new CoreError('CANCELLED', { what: 'the fetch', reason: 'the caller no longer waits' }));
    await found?.done.catch(() => undefined); // told to whoever asked
  }

  /** Something has changed: what is under way may have to stop. */
  wake(): void {
    const { senses, config } = this.#parts;
    const money = costsMoney(senses.network, config);
    if (money === undefined) return;
    for (const { abort, offer, anyway } of this.#fetching.values())
      if (!anyway) abort.abort(refused(offer, money, 'metered'));
  }

  async #fetch(offer: OfferedPackage, signal: AbortSignal): Promise<FetchedPackage> {
    const { id, version, bytes, noun } = offer;
    const source = await this.#source(`${noun} ${id}`);
    const part = this.#partOf(offer);
    await makeFolder(this.#folder);
    await this.#sweep(part);
    await this.#whole(source, offer, part, signal);
    const folder = join(this.#folder, randomUUID());
    const file = join(folder, `${id}-${version}${PACKAGE_OFFERS[noun].suffix}`);
    await makeFolder(folder);
    await moveFile(part, file);
    this.#keep(folder);
    return { source: file, id, version, bytes };
  }

  /** A connection that breaks off goes on, as long as each try brings something. */
  async #whole(source: PackageSource, offer: OfferedPackage, part: string, signal: AbortSignal): Promise<void> {
    const { tries } = this.#parts.config;
    for (let nth = 1; ; nth += 1) {
      const from = await sizeOf(part);
      try {
        return await source.fetchPackage(offer, part, { from, signal });
      } catch (error) {
        signal.throwIfAborted();
        const broke = error instanceof CoreError && error.code === 'REPOSITORY_FAILED';
        if (!broke || nth >= tries || (await sizeOf(part)) <= from) throw error;
      }
    }
  }

  #keep(folder: string): void {
    const { scope } = this.#parts;
    const label = 'remove a package that was not installed';
    this.#kept.set(
      folder,
      scope.timeout(label, KEPT_MS, () => this.#drop(folder)),
    );
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#drop(oldest);
  }

  #drop(folder: string): void {
    const { log } = this.#parts;
    this.#kept.get(folder)?.[Symbol.dispose]();
    this.#kept.delete(folder);
    void rm(folder, { recursive: true, force: true }).catch((err) => log.warn({ err }, 'cannot remove a package'));
  }

  /** Half of another package, and what a former Core had fetched. */
  async #sweep(part: string): Promise<void> {
    for (const name of await readdir(this.#folder)) {
      const path = join(this.#folder, name);
      if (path !== part && !this.#kept.has(path)) await rm(path, { recursive: true, force: true });
    }
  }

  async #offers(
    noun: PackageNoun,
    what: string,
    { signal }: Pick<CallContext, 'signal'>,
  ): Promise<readonly OfferedPackage[]> {
    const { trust } = this.#parts;
    const source = await this.#source(what);
    try {
      const found = await source.packages(noun, signal);
      trust.alarm = undefined;
      return found;
    } catch (error) {
      if (!(error instanceof CoreError) || signal.aborted) throw error;
      const { code, details } = error;
      if (code === 'UPDATE_REFUSED')
        throw new CoreError('FETCH_REFUSED', { what, reason: details.reason, rule: details.rule }, { cause: error });
      // Not there, or too slow, is no alarm; nor is a disk.
      if (code === 'REPOSITORY_UNTRUSTED') trust.alarm = error;
      throw error;
    }
  }

  async #source(what: string): Promise<PackageSource> {
    const source = await this.#parts.repository();
    if (source) return source;
    const reason = 'no repository is configured: the SKU says where one is, with `url` of plugin updater';
    throw new CoreError('FETCH_REFUSED', { what, reason, rule: 'repository' });
  }

  async #missing(what: string, suggestion: string): Promise<CoreError> {
    return new CoreError('PACKAGE_NOT_FOUND', { what, url: (await this.#source(what)).name, suggestion });
  }

  #partOf({ sha256 }: OfferedPackage): string {
    return join(this.#folder, `${sha256}.part`);
  }
}

function refused({ noun, id, version }: OfferedPackage, reason: string, rule: string): CoreError {
  return new CoreError('FETCH_REFUSED', { what: `${noun} ${id} ${version}`, reason, rule });
}

/** A version before its release is for whoever names it. */
const isRelease = ({ version }: OfferedPackage): boolean => !version.split('+')[0]?.includes('-');
const isHere = (offer: OfferedPackage): boolean => offer.withdrawn === undefined && runsOn(offer, HERE);
const isFit = (offer: OfferedPackage): boolean => isRelease(offer) && isHere(offer);

function suggested(id: string, all: readonly OfferedPackage[]): string {
  return didYouMean(id, new Set(all.map((offer) => offer.id)));
}

function named(versions: readonly OfferedPackage[]): string {
  const all = [...new Set(versions.map(({ version }) => version))].sort(compare).toReversed();
  return `; it has ${all.slice(0, MOST_NAMED).join(', ')}${all.length > MOST_NAMED ? ' and older ones' : ''}`;
}

async function sizeOf(file: string): Promise<number> {
  return stat(file).then(
    ({ size }) => size,
    () => 0, // not there
  );
}
