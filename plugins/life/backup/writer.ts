/**
 * Writes a backup as a plain tar: its head, each file of the state, secrets where it is sealed afterwards, and the hash
 * of all that stands before.
 */
import { createHash, type Hash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { archiveEnd, memberHeader, memberPadding, REPRODUCIBLE } from '@device-core/plugin-api/inside/packages';
import { PIECE, pieces } from './bytes.ts';
import { type BackupLimits, type Head, TooMuch } from './head.ts';

/** Names of members. What follows `state/` is the path below `<var>`. */
export const MEMBERS = { head: 'backup.json', state: 'state/', secrets: 'secrets.json', sum: 'sha256' } as const;

/** A place in a backup that is being written, to come back to. */
export interface Mark {
  readonly bytes: number;
  readonly files: number;
  readonly whole: Hash;
}

export class ArchiveWriter {
  readonly #out: FileHandle;
  readonly limits: BackupLimits;
  readonly #piece = Buffer.alloc(PIECE);
  #whole = createHash('sha256');
  #mtime = REPRODUCIBLE.mtime;
  #bytes = 0;
  #files = 0;

  constructor(out: FileHandle, limits: BackupLimits) {
    this.#out = out;
    this.limits = limits;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get files(): number {
    return this.#files;
  }

  async begin(head: Head): Promise<void> {
    this.#mtime = new Date(head.made);
    await this.#put(this.#member(MEMBERS.head, `${JSON.stringify(head)}\n`));
  }

  mark(): Mark {
    return { bytes: this.#bytes, files: this.#files, whole: this.#whole.copy() };
  }

  /** Takes back all entries since the mark. */
  async back({ bytes, files, whole }: Mark): Promise<void> {
    await this.#out.truncate(bytes);
    this.#bytes = bytes;
    this.#files = files;
    this.#whole = whole.copy();
  }

  /**
   * Copies what the file holds now. Throws TooMuch beyond the limits, and Unreadable for a file that grew shorter
   * meanwhile or cannot be read.
   */
  async add(path: string, from: FileHandle): Promise<void> {
    const { size, mode } = await from.stat();
    const { bytes, files } = this.limits;
    const header = this.#header(MEMBERS.state + path, size, mode & 0o777);
    const padding = memberPadding(size);
    if (this.#bytes + header.length + size + padding.length > bytes || this.#files >= files)
      throw new TooMuch(`it would hold more than ${bytes >> 20} MiB or ${files} files`);
    await this.#put(header);
    for await (const piece of pieces(from, size, this.#piece)) await this.#put(piece);
    await this.#put(padding);
    this.#files += 1;
  }

  /** Bytes that end the archive; they are not written here, as secrets stand on the disk sealed alone. */
  end(secrets?: string): { readonly sha256: string; readonly bytes: Buffer } {
    const kept = secrets === undefined ? Buffer.alloc(0) : this.#member(MEMBERS.secrets, secrets);
    const sha256 = this.#whole.copy().update(kept).digest('hex');
    return { sha256, bytes: Buffer.concat([kept, this.#member(MEMBERS.sum, `${sha256}\n`), archiveEnd()]) };
  }

  #header(path: string, size: number, mode: number): Buffer {
    return memberHeader(path, size, { ...REPRODUCIBLE, mtime: this.#mtime, mode });
  }

  #member(path: string, text: string): Buffer {
    const body = Buffer.from(text);
    return Buffer.concat([this.#header(path, body.length, 0o600), body, memberPadding(body.length)]);
  }

  async #put(buffer: Buffer): Promise<void> {
    this.#whole.update(buffer);
    for (let done = 0; done < buffer.length; ) {
      const { bytesWritten } = await this.#out.write(buffer, done, buffer.length - done, this.#bytes);
      done += bytesWritten;
      this.#bytes += bytesWritten;
    }
  }
}
