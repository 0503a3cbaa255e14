/**
 * Archives from another machine, `<state>/update/uploads`. They come in pieces: a connection that was cut goes on where it
 * was.
 */
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreError } from '@device-core/plugin-api';
import { isStorageTrouble, makeFolder, storageError } from '@device-core/plugin-api/durable';

const NAMED = 'upload:';
/** That wait to be installed: the oldest goes. */
const MOST = 2;
/** Bytes of a piece. */
export const PIECE = 128 << 10;

export interface Piece {
  /** Absent: a new one begins. */
  readonly upload?: string | undefined;
  readonly offset: number;
  readonly bytes: Uint8Array;
}

export interface Uploaded {
  readonly upload: string;
  readonly source: string;
  /** That are there now. */
  readonly bytes: number;
}

export class Uploads {
  readonly #folder: string;
  readonly #room: (folder: string) => Promise<number>;
  /** Ids, the oldest first. */
  readonly #known: string[] = [];

  /** `room`: bytes that may still be written there. */
  constructor(folder: string, room: (folder: string) => Promise<number>) {
    this.#folder = folder;
    this.#room = room;
  }

  /**
   * Writes a piece over the bytes from the offset on, so a piece may come twice. Throws SYSTEM_IMAGE_INVALID, and the
   * codes of a disk: then the upload is gone.
   */
  async take({ upload, offset, bytes }: Piece): Promise<Uploaded> {
    const id = upload ?? (await this.#begin());
    const file = this.pathOf(`${NAMED}${id}`);
    try {
      await using out = await open(file, constants.O_WRONLY | constants.O_CREAT, 0o600);
      const { size } = await out.stat();
      if (offset > size) throw invalid(id, `it goes on at byte ${size}, not at ${offset}`);
      if (bytes.length > (await this.#room(this.#folder)))
        throw new CoreError('STORAGE_FULL', { file, reason: 'it is more than `maxMB`, or the disk has no more room' });
      await out.truncate(offset);
      for (let done = 0; done < bytes.length; )
        done += (await out.write(bytes, done, bytes.length - done, offset + done)).bytesWritten;
    } catch (error) {
      const disk = storageError(file, error);
      if (!isStorageTrouble(disk)) throw error;
      this.#forget(id);
      await rm(file, { force: true });
      throw disk;
    }
    return { upload: id, source: `${NAMED}${id}`, bytes: offset + bytes.length };
  }

  /** Path of a source: that of the upload which it names, or itself. Throws SYSTEM_IMAGE_INVALID. */
  pathOf(source: string): string {
    if (!source.startsWith(NAMED)) return source;
    const id = source.slice(NAMED.length);
    if (this.#known.includes(id)) return join(this.#folder, id);
    throw invalid(id, 'there is no such upload, or it was too long ago');
  }

  /** From now on it is the update's: on the disk, and as long there as that needs it. Does nothing for other paths. */
  async handOver(path: string): Promise<void> {
    const id = this.#known.find((one) => join(this.#folder, one) === path);
    if (id === undefined) return;
    try {
      await using file = await open(path, 'r');
      await file.sync();
    } catch (error) {
      throw storageError(path, error);
    }
    this.#forget(id);
  }

  /** Removes what nobody can name any more; `kept` is the path that the update goes on with. */
  async sweep(kept: string | undefined): Promise<void> {
    const names = await readdir(this.#folder).catch(() => []); // there are none
    for (const name of names) {
      const path = join(this.#folder, name);
      if (path !== kept && !this.#known.includes(name)) await rm(path, { recursive: true, force: true });
    }
  }

  async #begin(): Promise<string> {
    await makeFolder(this.#folder);
    while (this.#known.length >= MOST) await rm(join(this.#folder, this.#known.shift() ?? ''), { force: true });
    const id = randomUUID();
    this.#known.push(id);
    return id;
  }

  #forget(id: string): void {
    const at = this.#known.indexOf(id);
    if (at >= 0) this.#known.splice(at, 1);
  }
}

const invalid = (id: string, reason: string): CoreError =>
  new CoreError('SYSTEM_IMAGE_INVALID', { source: `${NAMED}${id}`, reason });
