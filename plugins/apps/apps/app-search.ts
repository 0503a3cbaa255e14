/** Looks for apps: in the folders that were named, in the store, and in the folder of installed ones. One search at a time. */
import { join } from 'node:path';
import { type Logger, reasonOf, type Scope } from '@device-core/plugin-api';
import type { AppManifest } from '@device-core/plugin-api/services/apps';
import { type Catalog, MANIFEST, scanApps } from './app-catalog.ts';
import type { AppManifestReader } from './app-manifest.ts';
import { watchFolders } from './folder-watch.ts';
import type { LastGoodManifests } from './last-good.ts';
import type { StoredAppList } from './stored-apps.ts';
import type { TriedApps } from './tried-apps.ts';

export interface SearchParts {
  /** Absolute. */
  readonly folders: readonly string[];
  /** `<var>/apps`. */
  readonly installed: string;
  readonly reader: AppManifestReader;
  readonly lastGood: LastGoodManifests;
  readonly stored: StoredAppList;
  readonly tried: TriedApps;
  readonly scope: Scope;
  readonly log: Logger;
  readonly adopt: (catalog: Catalog) => Promise<void>;
}

export class AppSearch {
  readonly #parts: SearchParts;
  /** A folder may change while the apps of the last change still start. */
  #turn: Promise<void> = Promise.resolve();

  constructor(parts: SearchParts) {
    this.#parts = parts;
  }

  /** The first one, whose failure is that of the plugin. */
  async scan(): Promise<void> {
    const { scope, stored, adopt } = this.#parts;
    await stored.look();
    const catalog = await scanApps(this.#parts, stored.apps);
    if (catalog.again !== undefined) scope.timeout('look for apps again', catalog.again, () => this.look());
    await adopt(catalog);
  }

  look(): Promise<void> {
    this.#turn = this.#turn
      .then(() => this.scan())
      .catch((thrown) => this.#parts.log.error({ reason: reasonOf(thrown) }, 'cannot look for apps'));
    return this.#turn;
  }

  /** From now on what comes, changes or goes in the folders takes effect at once. */
  watch(): void {
    const { folders, installed, scope, log } = this.#parts;
    watchFolders(folders, installed, scope, log, () => this.look());
  }

  async inspect(folder: string): Promise<AppManifest> {
    return (await this.#parts.reader.read(join(folder, MANIFEST))).manifest;
  }
}
