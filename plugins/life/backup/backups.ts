import { randomBytes, randomUUID } from 'node:crypto';
import { open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Apps, CoreError, type DeviceInfo, reasonOf } from '@device-core/plugin-api';
import { isStorageTrouble, makeFolder, moveFile, storageError } from '@device-core/plugin-api/durable';
import { ArchiveWriter, FORM, keysOf } from './archive.ts';
import { formsOf, isSecret, visitState } from './places.ts';

export interface Made {
  readonly backup: string;
  readonly bytes: number;
  readonly files: number;
  readonly sha256: string;
  /** Paths that are not in it, with the reason. */
  readonly left: readonly { readonly path: string; readonly reason: string }[];
}

export const PART_BYTES = 128 << 10;
const MOST_LEFT = 100;
/** Of uploads that wait, and of backups that were made: the oldest goes. */
const MOST = 2;

/** Files that are backups, on their way out or in. */
export class Backups {
  readonly #folder: string;
  readonly #device: DeviceInfo;
  readonly #tree: string;
  readonly #now: () => number;
  /** Who lets apps rest, while it is there. */
  readonly #apps: () => Pick<Apps, 'borrow'> | undefined;
  readonly #known: string[] = [];
  #making = false;

  constructor(device: DeviceInfo, tree: string, now: () => number, apps: () => Pick<Apps, 'borrow'> | undefined) {
    this.#folder = join(device.paths.var, 'backups');
    this.#device = device;
    this.#tree = tree;
    this.#now = now;
    this.#apps = apps;
  }

  /** Throws BUSY, BACKUP_INVALID where there is too much of it, and the codes of a disk. */
  async make(passphrase: string | undefined, signal: AbortSignal): Promise<Made> {
    if (this.#making) throw new CoreError('BUSY', { what: 'a backup', limit: 1 });
    this.#making = true;
    const { sku, core, paths } = this.#device;
    const id = randomUUID();
    const file = join(this.#folder, id);
    try {
      await this.#room();
      const salt = passphrase === undefined ? undefined : randomBytes(16).toString('base64');
      await using out = await open(file, 'wx', 0o600);
      const writer = new ArchiveWriter(out, salt === undefined ? undefined : await keysOf(passphrase!, salt));
      const forms = await formsOf(this.#tree);
      const head = { format: FORM, sku: sku.id, core: core.version, made: this.#now(), forms };
      await writer.begin({ ...head, ...(salt !== undefined && { salt }) });
      const left: { readonly path: string; readonly reason: string }[] = [];
      await visitState(paths.var, {
        wants(path) {
          signal.throwIfAborted();
          if (salt !== undefined || !isSecret(path)) return true;
          left.push({ path, reason: 'it may hold secrets: it needs a passphrase' });
          return false;
        },
        file: (path, from) => writer.add(path, from),
        left: (path, reason) => void left.push({ path, reason }),
        data: async (app, look) => {
          const reason = await this.#held(app, look);
          if (reason !== undefined) left.push({ path: `apps/${app}/data`, reason });
        },
      });
      const sha256 = await writer.end();
      this.#known.push(id);
      return {
        backup: id,
        bytes: (await out.stat()).size,
        files: writer.files,
        sha256,
        left: left.slice(0, MOST_LEFT),
      };
    } catch (error) {
      await rm(file, { force: true });
      const disk = storageError(file, error);
      throw isStorageTrouble(disk) ? disk : error;
    } finally {
      this.#making = false;
    }
  }

  /** Nothing of the app writes meanwhile. Resolves with the reason where its data cannot be had; rejects with what the look itself throws. */
  async #held(app: string, look: () => Promise<void>): Promise<string | undefined> {
    const apps = this.#apps();
    let looked = false;
    const work = async () => {
      looked = true;
      await look();
    };
    try {
      await (apps ? apps.borrow(app, work) : work());
    } catch (thrown) {
      if (looked) throw thrown;
      return reasonOf(thrown);
    }
  }

  /** Bytes of one that was made. Throws BACKUP_INVALID. */
  async part(id: string, offset: number): Promise<{ readonly bytes: Buffer; readonly end: boolean }> {
    await using file = await open(this.fileOf(id), 'r');
    const { size } = await file.stat();
    const buffer = Buffer.alloc(Math.max(0, Math.min(PART_BYTES, size - offset)));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, offset);
    return { bytes: buffer.subarray(0, bytesRead), end: offset + bytesRead >= size };
  }

  async take(file: string): Promise<{ readonly upload: string; readonly bytes: number }> {
    await this.#room();
    const upload = randomUUID();
    const { size } = await stat(file);
    await moveFile(file, join(this.#folder, upload));
    this.#known.push(upload);
    return { upload, bytes: size };
  }

  /** Throws BACKUP_INVALID for one that is not there. */
  fileOf(id: string): string {
    if (this.#known.includes(id)) return join(this.#folder, id);
    throw new CoreError('BACKUP_INVALID', { source: id, reason: 'there is no such backup, or it was too long ago' });
  }

  async remove(id: string): Promise<void> {
    const at = this.#known.indexOf(id);
    if (at >= 0) this.#known.splice(at, 1);
    await rm(join(this.#folder, id), { force: true });
  }

  /** What a former Core left is of no use to anybody. */
  async #room(): Promise<void> {
    await makeFolder(this.#folder);
    for (const name of await readdir(this.#folder))
      if (!this.#known.includes(name)) await rm(join(this.#folder, name), { force: true });
    while (this.#known.length >= MOST) await this.remove(this.#known[0] ?? '');
  }
}
