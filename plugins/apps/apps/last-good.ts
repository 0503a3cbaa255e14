/**
 * The last manifest of each app folder that could be used: a typo must not stop an app that runs, nor keep it from
 * starting after a restart.
 */
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, CoreError, type Logger, newerForm, reasonOf } from '@device-core/plugin-api';
import { makeFolder, replaceFile, syncName } from '@device-core/plugin-api/durable';
import type { AppManifest } from '@device-core/plugin-api/services/apps';
import type { AppManifestReader } from './app-manifest.ts';

const FORMAT = 1;
const MANIFEST = 'app.yaml';
/** Files that an uninstalled app leaves behind; an installed one has more. */
const DATA = ['data', 'cache', 'before', 'config.yaml'];
/** A manifest that is replaced is away for a moment. */
const AWAY_MS = 2_000;

interface Kept {
  readonly id: string;
  readonly folder: string;
  readonly text: string;
}

export interface LastGoodOptions {
  /** `<var>/app-manifests`: a file for each app, `<id>.json`. */
  readonly directory: string;
  readonly reader: AppManifestReader;
  readonly clock: Clock;
  readonly log: Logger;
}

export class LastGoodManifests {
  readonly #options: LastGoodOptions;
  /** By folder. */
  readonly #kept = new Map<string, Kept>();
  /** Ids whose files a newer Core wrote: they are left alone. */
  readonly #newer = new Map<string, CoreError>();
  /** Since when a manifest has not been there, by folder; monotonic. */
  readonly #away = new Map<string, number>();

  private constructor(options: LastGoodOptions) {
    this.#options = options;
  }

  static async open(options: LastGoodOptions): Promise<LastGoodManifests> {
    const all = new LastGoodManifests(options);
    await makeFolder(options.directory);
    for (const name of await readdir(options.directory)) if (name.endsWith('.json')) await all.#read(name);
    return all;
  }

  /** Errors of files written by a newer Core. */
  get newer(): readonly CoreError[] {
    return [...this.#newer.values()];
  }

  folders(): readonly string[] {
    return [...this.#kept.keys()];
  }

  /** The manifest that was last in use. Undefined where there was none, or this Core cannot use it. */
  async of(folder: string): Promise<{ readonly manifest: AppManifest; readonly text: string } | undefined> {
    const kept = this.#kept.get(folder);
    if (!kept) return undefined;
    try {
      return { manifest: this.#options.reader.check(kept.text, this.#file(kept.id)), text: kept.text };
    } catch (thrown) {
      this.#options.log.warn({ app: kept.id, reason: reasonOf(thrown) }, 'the last good manifest cannot be used');
      return undefined;
    }
  }

  /**
   * Tells whether the app of a missing manifest is still there. `soon` is for a manifest that may just be replaced:
   * look again after so many ms.
   */
  async stillThere(folder: string, installed: boolean): Promise<{ readonly there: boolean; readonly soon?: number }> {
    const names = await readdir(folder).catch(() => undefined);
    if (!names || !this.#kept.has(folder)) return { there: false };
    if (names.includes(MANIFEST)) {
      this.#away.delete(folder);
      return { there: true };
    }
    // Files beside the manifest belong to an app that is still there, except for its data.
    if (!installed || names.some((name) => !DATA.includes(name))) return { there: true };
    const now = this.#options.clock.monotonic();
    const since = this.#away.get(folder) ?? now;
    this.#away.set(folder, since);
    return now - since < AWAY_MS ? { there: true, soon: AWAY_MS } : { there: false };
  }

  /** Never rejects: an app runs although its manifest cannot be kept. */
  async keep(id: string, folder: string, text: string): Promise<void> {
    const former = this.#kept.get(folder);
    this.#away.delete(folder);
    if (former?.id === id && former.text === text) return;
    for (const other of [...this.#kept.values()])
      if (other.folder === folder || other.id === id) await this.#remove(other, other.id !== id);
    this.#kept.set(folder, { id, folder, text });
    if (this.#newer.has(id)) return;
    try {
      await replaceFile(this.#file(id), JSON.stringify({ format: FORMAT, folder, text }));
      await syncName(this.#file(id));
    } catch (thrown) {
      this.#options.log.warn({ app: id, reason: reasonOf(thrown) }, 'cannot keep the manifest of an app');
    }
  }

  /** The app is gone. */
  async forget(folder: string): Promise<void> {
    const kept = this.#kept.get(folder);
    this.#away.delete(folder);
    if (kept) await this.#remove(kept, true);
  }

  async #remove({ id, folder }: Kept, andFile: boolean): Promise<void> {
    this.#kept.delete(folder);
    if (!andFile || this.#newer.has(id)) return;
    await rm(this.#file(id), { force: true }).catch((thrown) =>
      this.#options.log.warn({ app: id, reason: reasonOf(thrown) }, 'cannot remove the kept manifest of an app'),
    );
  }

  async #read(name: string): Promise<void> {
    const file = join(this.#options.directory, name);
    const id = name.slice(0, -'.json'.length);
    try {
      const { format, folder, text } = JSON.parse(await readFile(file, 'utf8'));
      const newer = newerForm(file, format, FORMAT);
      if (newer) {
        this.#newer.set(id, newer);
        return;
      }
      if (typeof folder !== 'string' || typeof text !== 'string')
        throw new CoreError('STATE_CORRUPT', { file, reason: 'folder and text are missing' });
      if (await isFolder(folder)) this.#kept.set(folder, { id, folder, text });
      else await rm(file, { force: true });
    } catch (thrown) {
      // A copy: the next good manifest takes its place.
      this.#options.log.warn({ file, reason: reasonOf(thrown) }, 'cannot read the kept manifest of an app');
    }
  }

  #file(id: string): string {
    return join(this.#options.directory, `${id}.json`);
  }
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (info) => info.isDirectory(),
    () => false,
  );
}
