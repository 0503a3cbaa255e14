/** Packages that came over the network and wait to be installed. */
import { randomUUID } from 'node:crypto';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreError } from '@device-core/plugin-api';
import { makeFolder, moveFile } from '@device-core/plugin-api/durable';

/** The oldest goes for the newest. */
const MOST = 8;

export class Uploads {
  readonly #folder: string;
  /** Ids, the oldest first. What a former Core took is unknown, and removed. */
  readonly #known: string[] = [];

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Takes the file away. Throws the codes of a disk. */
  async take(file: string): Promise<{ readonly upload: string; readonly source: string; readonly bytes: number }> {
    await makeFolder(this.#folder);
    for (const name of await readdir(this.#folder)) if (!this.#known.includes(name)) await this.#remove(name);
    while (this.#known.length >= MOST) await this.#remove(this.#known.shift() ?? '');
    const upload = randomUUID();
    const { size } = await stat(file);
    await moveFile(file, join(this.#folder, upload));
    this.#known.push(upload);
    return { upload, source: `upload:${upload}`, bytes: size };
  }

  /** Throws PACKAGE_INVALID for one that is not there. */
  fileOf(upload: string): string {
    if (this.#known.includes(upload)) return join(this.#folder, upload);
    throw new CoreError('PACKAGE_INVALID', { source: `upload:${upload}`, reason: 'there is no such upload' });
  }

  async #remove(name: string): Promise<void> {
    await rm(join(this.#folder, name), { force: true });
  }
}
