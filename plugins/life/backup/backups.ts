import { randomBytes, randomUUID } from 'node:crypto';
import { open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreError, type Logger } from '@device-core/plugin-api';
import { isStorageTrouble, makeFolder, moveFile, storageError } from '@device-core/plugin-api/durable';
import type { Apps } from '@device-core/plugin-api/services/apps';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';
import { AppData } from './app-data.ts';
import { ArchiveWriter, type BackupLimits, FORM, keysOf, Unreadable } from './archive.ts';
import { type Left, LeftOut } from './left-out.ts';
import { formsOf, isSecret, visitState } from './places.ts';

export interface Made {
  readonly backup: string;
  readonly bytes: number;
  readonly files: number;
  readonly sha256: string;
  /** Paths that are not in it, with the reason; apps whose data are not in it come first. */
  readonly left: readonly Left[];
}

export const PART_BYTES = 128 << 10;
/** Of uploads that wait, and of backups that were made: the oldest goes. */
const MOST = 2;

/** Files that are backups, on their way out or in. */
export class Backups {
  readonly #folder: string;
  readonly #device: DeviceInfo;
  readonly #tree: string;
  readonly #now: () => number;
  readonly #apps: () => Pick<Apps, 'borrow'> | undefined;
  readonly #log: Logger;
  readonly #limits: BackupLimits;
  readonly #known: string[] = [];
  #making = false;

  constructor(
    device: DeviceInfo,
    tree: string,
    {
      now,
      apps,
      log,
      limits,
    }: {
      readonly now: () => number;
      readonly apps: () => Pick<Apps, 'borrow'> | undefined;
      readonly log: Logger;
      readonly limits: BackupLimits;
    },
  ) {
    this.#folder = join(device.paths.var, 'backups');
    this.#device = device;
    this.#tree = tree;
    this.#now = now;
    this.#apps = apps;
    this.#log = log;
    this.#limits = limits;
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
      const keys = salt === undefined ? undefined : await keysOf(passphrase!, salt);
      const writer = new ArchiveWriter(out, keys, this.#limits);
      const forms = await formsOf(this.#tree);
      const head = { format: FORM, sku: sku.id, core: core.version, made: this.#now(), forms };
      await writer.begin({ ...head, ...(salt !== undefined && { salt }) });
      const left = new LeftOut();
      const data = new AppData(writer, left, this.#apps);
      await visitState(paths.var, {
        wants(path) {
          signal.throwIfAborted();
          if (salt !== undefined || !isSecret(path)) return true;
          left.path(path, 'it may hold secrets: it needs a passphrase');
          return false;
        },
        async file(path, from) {
          const mark = writer.mark();
          try {
            await writer.add(path, from);
          } catch (thrown) {
            if (!(thrown instanceof Unreadable)) throw thrown;
            await writer.back(mark);
            left.path(path, thrown.reason);
          }
        },
        left: (path, reason) => left.path(path, reason),
        entry(app) {
          signal.throwIfAborted();
          data.entry(app);
        },
        data: (app, look, count) => data.look(app, look, count),
      });
      await data.again();
      for (const { path, reason } of left.apps) this.#log.warn({ path, reason }, 'the data of an app are in no backup');
      const sha256 = await writer.end();
      this.#known.push(id);
      return {
        backup: id,
        bytes: (await out.stat()).size,
        files: writer.files,
        sha256,
        left: left.told(),
      };
    } catch (error) {
      await rm(file, { force: true });
      const disk = storageError(file, error);
      throw isStorageTrouble(disk) ? disk : error;
    } finally {
      this.#making = false;
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
