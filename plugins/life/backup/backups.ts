import { randomUUID } from 'node:crypto';
import { type FileHandle, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreError, type Logger, maybe, reasonOf } from '@device-core/plugin-api';
import { isStorageTrouble, makeFolder, moveFile, storageError } from '@device-core/plugin-api/durable';
import type { SecretTransfer } from '@device-core/plugin-api/inside/services/secret-transfer';
import type { Apps } from '@device-core/plugin-api/services/apps';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';
import { AppData } from './app-data.ts';
import { pieces } from './bytes.ts';
import { type BackupLimits, FORM, Unreadable } from './head.ts';
import { type Left, LeftOut } from './left-out.ts';
import { formsOf, isSecret, visitState } from './places.ts';
import { sealed } from './sealed.ts';
import { ArchiveWriter } from './writer.ts';

export interface Made {
  readonly backup: string;
  readonly bytes: number;
  readonly files: number;
  readonly sha256: string;
  /** Paths that are not in it, with the reason; apps whose data are not in it come first. */
  readonly left: readonly Left[];
}

export const PART_BYTES = 128 << 10;
/** Most uploads that wait, and most backups that were made: the oldest goes. */
const MOST = 2;

export interface BackupParts {
  readonly now: () => number;
  readonly apps: () => Pick<Apps, 'borrow'> | undefined;
  readonly secrets: () => SecretTransfer | undefined;
  readonly log: Logger;
  readonly limits: BackupLimits;
}

/** Files that are backups, on their way out or in. */
export class Backups {
  readonly #folder: string;
  readonly #device: DeviceInfo;
  readonly #tree: string;
  readonly #parts: BackupParts;
  readonly #known: string[] = [];
  #making = false;

  constructor(device: DeviceInfo, tree: string, parts: BackupParts) {
    this.#folder = join(device.paths.var, 'backups');
    this.#device = device;
    this.#tree = tree;
    this.#parts = parts;
  }

  /** Throws BUSY, BACKUP_INVALID where there is too much of it, and the codes of a disk. */
  async make(passphrase: string | undefined, signal: AbortSignal): Promise<Made> {
    if (this.#making) throw new CoreError('BUSY', { what: 'a backup', limit: 1 });
    this.#making = true;
    const { sku, core, paths } = this.#device;
    const { limits, log, apps, now } = this.#parts;
    const id = randomUUID();
    const file = join(this.#folder, id);
    // An app that is left out is cut off again, which a sealed file does not allow: it is sealed when it is whole.
    const plain = passphrase === undefined ? file : `${file}.tar`;
    try {
      await this.#room();
      await using out = await open(plain, 'wx+', 0o600);
      const writer = new ArchiveWriter(out, limits);
      const forms = await formsOf(this.#tree);
      await writer.begin({ format: FORM, sku: sku.id, core: core.version, made: now(), forms });
      const left = new LeftOut();
      const secrets = passphrase === undefined ? undefined : await this.#secrets(left);
      const data = new AppData(writer, left, apps);
      await visitState(paths.var, {
        wants(path) {
          signal.throwIfAborted();
          if (secrets?.instead !== undefined && path.startsWith(secrets.instead)) return false;
          if (passphrase !== undefined || !isSecret(path)) return true;
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
      for (const { path, reason } of left.apps) log.warn({ path, reason }, 'the data of an app are in no backup');
      const { sha256, bytes: end } = writer.end(secrets?.text);
      const whole = async function* () {
        for await (const piece of pieces(out, writer.bytes)) {
          signal.throwIfAborted();
          yield piece;
        }
        yield end;
      };
      const bytes =
        passphrase === undefined
          ? await written(out, [end], writer.bytes)
          : await writtenNew(file, await sealed(whole(), passphrase));
      this.#known.push(id);
      return { backup: id, bytes, files: writer.files, sha256, left: left.told() };
    } catch (error) {
      await rm(file, { force: true });
      const disk = storageError(file, error);
      throw isStorageTrouble(disk) ? disk : error;
    } finally {
      if (plain !== file) await rm(plain, { force: true });
      this.#making = false;
    }
  }

  /** Secrets go without their vault, which only this device can open. A vault that is shut goes as it is. */
  async #secrets(left: LeftOut): Promise<{ readonly text?: string; readonly instead?: string }> {
    const transfer = this.#parts.secrets();
    if (!transfer) return {};
    try {
      const { secrets, damaged, instead } = await transfer.takeOut();
      for (const key of damaged) left.path(`secrets/${key}`, 'it is damaged');
      const text = `${JSON.stringify({ format: 1, secrets })}\n`;
      return { ...(secrets.length > 0 && { text }), ...maybe({ instead }) };
    } catch (error) {
      left.path('secrets', `only this device can open them again: ${reasonOf(error)}`);
      return {};
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

  /** Files that a former Core left are of no use. */
  async #room(): Promise<void> {
    await makeFolder(this.#folder);
    for (const name of await readdir(this.#folder))
      if (!this.#known.includes(name)) await rm(join(this.#folder, name), { force: true });
    while (this.#known.length >= MOST) await this.remove(this.#known[0] ?? '');
  }
}

/** Durable when it resolves with the length of the file. */
async function written(
  out: FileHandle,
  bytes: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  at = 0,
): Promise<number> {
  let end = at;
  for await (const chunk of bytes)
    for (let done = 0; done < chunk.length; ) {
      const { bytesWritten } = await out.write(chunk, done, chunk.length - done, end);
      done += bytesWritten;
      end += bytesWritten;
    }
  await out.sync();
  return end;
}

async function writtenNew(file: string, bytes: AsyncIterable<Uint8Array>): Promise<number> {
  await using out = await open(file, 'wx', 0o600);
  return await written(out, bytes);
}
