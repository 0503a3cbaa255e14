/** Apps of the store of packages. Without a store there are folders alone. */
import { readFile } from 'node:fs/promises';
import { CoreError } from '@device-core/plugin-api';
import type { AppStore, StoredApp } from '@device-core/plugin-api/inside/services/app-store';

/** The store took no more when it was installed. */
const LIMITS = { files: 100_000, bytes: 1 << 30 };

/** The last word of the store holds while it restarts. */
export class StoredAppList {
  #store: AppStore | undefined;
  #apps: readonly StoredApp[] = [];
  #off: ReadonlySet<string> = new Set();

  get apps(): readonly StoredApp[] {
    return this.#apps;
  }

  follow(store: AppStore | undefined): void {
    this.#store = store;
  }

  async look(): Promise<void> {
    if (!this.#store) return;
    const { apps, off } = await this.#store.list();
    this.#apps = apps;
    this.#off = new Set(off);
  }

  /** The store brought what lies in this folder. */
  has(folder: string): boolean {
    return this.#at(folder) !== undefined;
  }

  /** It is switched off: nothing starts it. */
  isOff(id: string): boolean {
    return this.#off.has(id);
  }

  /** Its user where a store gives users to apps. */
  async uidOf(id: string): Promise<number | undefined> {
    return this.#store?.uidOf(id);
  }

  /** Name of the key that signed an installed app; null: nobody did; undefined: nobody knows. */
  async signerOf(id: string): Promise<string | null | undefined> {
    if (!this.#store || !this.#apps.some((app) => app.id === id)) return undefined;
    return (await this.#store.signerOf(id)) ?? null;
  }

  /** The package behind `upload:<id>`. Throws PACKAGE_INVALID. */
  async uploaded(upload: string): Promise<string> {
    if (this.#store) return this.#store.uploaded(upload);
    throw new CoreError('PACKAGE_INVALID', { source: `upload:${upload}`, reason: 'no store of apps is there' });
  }

  /** Environment of a run that describes the package of the app in this folder. */
  environmentOf(folder: string): Readonly<Record<string, string>> {
    const from = this.#at(folder)?.dataFrom;
    return from === undefined ? {} : { DEVICE_DATA_FROM: String(from) };
  }

  /** Reads every file of an installed app again before it runs. Throws APP_CHANGED, which names the first file that differs. */
  async check(folder: string): Promise<void> {
    const app = this.#at(folder);
    if (!app) return;
    const { APP_PACKAGE, changeOf } = await import('@device-core/plugin-api/inside/packages');
    const list = () => readFile(`${folder}.sha256`, 'utf8');
    const reason = await changeOf(APP_PACKAGE, folder, app.hash, list, LIMITS);
    if (reason !== undefined) throw new CoreError('APP_CHANGED', { app: app.id, reason });
  }

  #at(folder: string): StoredApp | undefined {
    return this.#apps.find((app) => app.folder === folder);
  }
}
