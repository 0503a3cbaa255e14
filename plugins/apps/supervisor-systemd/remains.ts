import { readdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Logger, reasonOf } from '@device-core/plugin-api';
import { storageError } from '@device-core/plugin-api/durable';
import { remainsFolder, remainsNoted } from '@device-core/plugin-api/inside/pending-state';
import { Serial } from '@device-core/plugin-api/inside/serial';
import type { WardenClient } from './warden-client.ts';

/**
 * Files that could not be removed, as they belonged to the users of guests: the warden gives its folders to the Core,
 * which removes them.
 */
export class Remains {
  readonly #folder: string;
  readonly #noted: string;
  readonly #warden: Pick<WardenClient, 'ask'>;
  readonly #turns = new Serial();

  /** `state` is `<var>`. */
  constructor(state: string, warden: Pick<WardenClient, 'ask'>) {
    this.#folder = remainsFolder(state);
    this.#noted = remainsNoted(state);
    this.#warden = warden;
  }

  /**
   * Resolves with whether there was something. Throws WARDEN_REFUSED, UNAVAILABLE, and the codes of a disk: then it
   * stays, and /health tells it.
   */
  sweep(): Promise<boolean> {
    return this.#turns.run(() => this.#sweep());
  }

  /** Files left over are tried again at the next start. */
  async sweepQuietly(log: Logger): Promise<void> {
    const folder = this.#folder;
    try {
      if (await this.sweep()) log.info({ folder }, 'removed what guests had left');
    } catch (thrown) {
      log.warn({ folder, reason: reasonOf(thrown) }, 'cannot remove what guests left');
    }
  }

  async #sweep(): Promise<boolean> {
    // Folders that come meanwhile have not been given back: they wait for the next sweep.
    const names = await readdir(this.#folder).catch(() => undefined);
    if (!names) return false;
    await this.#warden.ask({ verb: 'reclaim' });
    const paths = names.map((name) => join(this.#folder, name)).filter((path) => path !== this.#noted);
    try {
      for (const path of paths) await rm(path, { recursive: true, force: true });
      const left = await readdir(this.#folder);
      if (left.some((name) => join(this.#folder, name) !== this.#noted)) return true;
      await rm(this.#noted, { force: true });
      await rmdir(this.#folder);
    } catch (thrown) {
      throw storageError(this.#folder, thrown);
    }
    return true;
  }
}
