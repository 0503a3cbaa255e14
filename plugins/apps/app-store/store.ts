/** The list of installed apps and what hangs on it: code, data, users. What touches the list is done one after the other. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Clock, type Logger, maybe, reasonOf } from '@device-core/plugin-api';
import { makeFolder } from '@device-core/plugin-api/durable';
import type { TreeLimits } from '@device-core/plugin-api/inside/packages';
import { remainsFolder } from '@device-core/plugin-api/inside/pending-state';
import type { AppStore, StoredApp, StoredApps } from '@device-core/plugin-api/inside/services/app-store';
import type { AppSupervisor } from '@device-core/plugin-api/inside/services/app-supervisor';
import { freeUid } from '../shared/free-uid.ts';
import { ListFile, without } from '../shared/package-store/list-file.ts';
import { VersionFiles } from '../shared/package-store/version-files.ts';
import { APP_FILES, removeTree, UPLOADS } from './code.ts';
import { AppData } from './data.ts';
import { APP_LIST, type AppEntry, type Installed, PASSAGE } from './installed.ts';
import type { StoreConfig } from './outcome.ts';
import { Uploads } from './uploads.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
/** Copies of data are kept so long after an update, and no longer than until the next. */
const COPY_DAYS = 7;

export interface StoreParts {
  /** `<var>/app-store`. */
  readonly place: string;
  /** `<var>/apps`. */
  readonly apps: string;
  readonly config: StoreConfig;
  readonly log: Logger;
  readonly clock: Clock;
  /** Supervisor that keeps the data of apps from the Core, while it is there. */
  readonly supervisor: () => Pick<AppSupervisor, 'release' | 'sweep'> | undefined;
}

export class PackageStore implements AppStore {
  readonly state: ListFile<Installed>;
  readonly code: VersionFiles<AppEntry>;
  readonly data: AppData;
  readonly limits: TreeLimits;
  readonly uploads: Uploads;
  readonly #parts: StoreParts;
  /** Apps that a change is under way for: nothing of theirs is swept. */
  readonly underWay = new Set<string>();
  readonly #listeners = new Set<() => void>();

  constructor(parts: StoreParts) {
    this.#parts = parts;
    this.limits = { files: parts.config.maxFiles, bytes: parts.config.maxBytes };
    this.state = new ListFile(join(parts.place, 'installed.yaml'), APP_LIST);
    this.code = new VersionFiles(parts.place, this.limits, APP_FILES);
    this.data = new AppData(parts.apps);
    this.uploads = new Uploads(join(parts.place, UPLOADS));
  }

  get installed(): Installed {
    return this.state.value;
  }

  get place(): string {
    return this.#parts.place;
  }

  /** Before any app runs: finishes what was cut off, and removes what nobody needs any more. */
  async begin(): Promise<void> {
    if (this.state.newer) return;
    await makeFolder(this.#parts.place, PASSAGE);
    await this.state.mend();
    await removeTree(join(this.#parts.place, UPLOADS));
    for (const id of Object.keys(this.installed.apps)) await this.settleData(id);
    await this.#expire();
    await this.tidy();
  }

  async list(): Promise<StoredApps> {
    const apps = Object.entries(this.installed.apps).map(([id, entry]): StoredApp => {
      const { version, hash, dataFrom } = entry;
      const folder = this.code.folderOf(id, entry);
      return { id, version, hash, folder, ...maybe({ dataFrom }) };
    });
    return { apps, off: this.installed.disabled };
  }

  async uploaded(upload: string): Promise<string> {
    return this.uploads.fileOf(upload);
  }

  async signerOf(app: string): Promise<string | undefined> {
    const signer = this.installed.apps[app]?.signer;
    if (signer === undefined) return undefined;
    const { signerName } = await import('./trust.ts');
    return signerName(app, signer, this.#parts.config.trust);
  }

  onChange(listener: () => void): Disposable {
    const entry = () => listener();
    this.#listeners.add(entry);
    return { [Symbol.dispose]: () => void this.#listeners.delete(entry) };
  }

  uidOf(app: string): Promise<number> {
    const known = this.installed.uids[app];
    if (known !== undefined) return Promise.resolve(known);
    return this.state.serial(async () => {
      const { uids, nextUid } = this.installed;
      const again = uids[app];
      if (again !== undefined) return again;
      const { firstUid, lastUid } = this.#parts.config;
      const uid = freeUid(new Set(Object.values(uids)), nextUid, firstUid, lastUid);
      await this.state.write({ uids: { ...uids, [app]: uid }, nextUid: uid + 1 });
      return uid;
    });
  }

  /** One change of the list, with whatever has to be looked at for it; told to whoever follows the list. Durable when it resolves. */
  change(make: (now: Installed) => Partial<Installed> | undefined): Promise<boolean> {
    return this.state.serial(async () => {
      const change = make(this.installed);
      if (!change) return false;
      await this.state.write(change);
      this.#tell();
      return true;
    });
  }

  /** Puts another entry in the place of one, if it is still that one. */
  exchange(id: string, now: AppEntry | undefined, next: AppEntry | undefined, more: Partial<Installed> = {}) {
    return this.change(({ apps }) => {
      if (apps[id]?.installedAt !== now?.installedAt) return undefined;
      return { ...more, apps: without(apps, id, next) };
    });
  }

  /**
   * Its data can be read and removed from now until it starts again. Nothing of the app runs meanwhile. Throws
   * WARDEN_REFUSED, UNAVAILABLE.
   */
  async release(id: string): Promise<void> {
    await this.#parts.supervisor()?.release(id);
  }

  /** As far as it can be: what stays the app's own makes room all the same. */
  async releaseQuietly(id: string): Promise<void> {
    await this.release(id).catch((thrown: unknown) => {
      this.#parts.log.warn({ app: id, reason: reasonOf(thrown) }, 'cannot take over the data of an app');
    });
  }

  /**
   * Removes everything that was the app's. Resolves with where the rest waits that belongs to a user of its own;
   * undefined where nothing is left.
   */
  async purge(id: string): Promise<string | undefined> {
    const place = await this.data.purge(id);
    if (place === undefined) return undefined;
    await this.sweep();
    return existsSync(place) ? place : undefined;
  }

  /** Removes what waits for the supervisor, where there is something. */
  async sweep(): Promise<void> {
    const { apps, log, supervisor } = this.#parts;
    const folder = remainsFolder(dirname(apps));
    if (!existsSync(folder)) return;
    try {
      await supervisor()?.sweep();
    } catch (thrown) {
      log.warn({ folder, reason: reasonOf(thrown) }, 'cannot remove the data of removed apps yet');
    }
  }

  /** Its data are what its entry says: a copy that was to be put back is put back, once. Nothing of the app runs meanwhile. */
  async settleData(id: string): Promise<void> {
    const entry = this.installed.apps[id];
    if (entry?.restore === undefined) return;
    await this.releaseQuietly(id);
    await this.data.restore(id, entry.restore);
    const { restore: _, ...rest } = entry;
    await this.exchange(id, entry, rest);
  }

  /** Removes code that no entry names and copies that are too old. */
  tidy(): Promise<void> {
    return this.state.serial(async () => {
      // A folder missing in an unreadable list is not left over.
      if (this.state.newer) return;
      try {
        await this.code.sweep(this.installed.apps);
        const old = this.#parts.clock.now() - COPY_DAYS * DAY_MS;
        for (const [id, { former, restore }] of Object.entries(this.installed.apps)) {
          if (this.underWay.has(id)) continue;
          const fresh = former?.copiedAt !== undefined && former.copiedAt > old ? former.version : undefined;
          await this.data.forgetCopies(id, restore ?? fresh);
        }
      } catch (thrown) {
        this.#parts.log.warn({ reason: reasonOf(thrown) }, 'cannot remove what is left of old apps');
      }
    });
  }

  /** Data of apps that were removed long ago. */
  async #expire(): Promise<void> {
    const now = this.#parts.clock.now();
    for (const [id, { until }] of Object.entries(this.installed.retained)) {
      if (until > now) continue;
      try {
        await this.purge(id);
        await this.change(({ retained, uids }) => ({ retained: without(retained, id), uids: without(uids, id) }));
      } catch (thrown) {
        this.#parts.log.warn({ app: id, reason: reasonOf(thrown) }, 'cannot remove the data of a removed app');
      }
    }
  }

  #tell(): void {
    for (const listener of this.#listeners) {
      try {
        listener();
      } catch (thrown) {
        this.#parts.log.error({ reason: reasonOf(thrown) }, 'a listener of the list of apps failed');
      }
    }
  }
}
