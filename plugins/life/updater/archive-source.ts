/**
 * An image folder as a plain tar, in one file: its table of contents is read first, and nothing is unpacked but the
 * blobs that are asked for.
 */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { CoreError, reasonOf } from '@device-core/plugin-api';
import { IMAGE_LIST, IMAGE_SIGNATURE, ImageError, LONGEST_LIST } from '@device-core/plugin-api/inside/image';
import {
  ARCHIVED,
  type ArchivePlace,
  type ArchiveTable,
  archiveTable,
} from '@device-core/plugin-api/inside/image-archive';
import { copyPart } from './copy-part.ts';
import { LONGEST_SIGNATURE } from './folder-source.ts';
import type { Blob, BlobOptions, Offer, Source } from './repository.ts';

export class ArchiveSource implements Source {
  readonly kind = 'archive';
  readonly name: string;
  #contents: Promise<ArchiveTable> | undefined;

  constructor(file: string) {
    this.name = file;
  }

  async newest(): Promise<Offer> {
    const list = await this.#read(IMAGE_LIST, LONGEST_LIST);
    const signatures = (await this.#read(IMAGE_SIGNATURE, LONGEST_SIGNATURE)).toString('utf8');
    const contents = await this.#table();
    const compressed = new Map<string, number>();
    for (const [name, { size }] of contents)
      if (name.startsWith('blobs/')) compressed.set(name.slice('blobs/'.length, -'.zst'.length), size);
    return { list, signatures, compressed };
  }

  async fetchBlob({ sha256 }: Blob, to: string, options: BlobOptions): Promise<void> {
    const place = await this.#place(`blobs/${sha256}.zst`);
    await using file = await this.#open();
    await copyPart({ file, ...place, name: `${this.name}: blobs/${sha256}.zst` }, to, options);
  }

  async #read(name: string, most: number): Promise<Buffer> {
    const place = await this.#place(name);
    if (place.size > most) throw this.#invalid(`${name} has more than ${most} bytes`);
    await using file = await this.#open();
    return readAll(file, place);
  }

  async #place(name: string): Promise<ArchivePlace> {
    const place = (await this.#table()).get(name);
    if (!place) throw this.#invalid(`${name} is not in it`);
    return place;
  }

  #table(): Promise<ArchiveTable> {
    this.#contents ??= this.#scan();
    return this.#contents;
  }

  async #scan(): Promise<ArchiveTable> {
    await using file = await this.#open();
    try {
      // Extended headers tell times and owners, and nothing that an image has.
      const walk = archiveTable((await file.stat()).size, 'xg');
      let step = walk.next();
      while (!step.done) step = walk.next(await readAll(file, step.value));
      const foreign = [...step.value.keys()].find((name) => !ARCHIVED.test(name));
      if (foreign === undefined) return step.value;
      throw this.#invalid(`${JSON.stringify(foreign.slice(0, 120))} is no part of an image`);
    } catch (error) {
      throw error instanceof ImageError ? this.#invalid(error.message) : error;
    }
  }

  async #open(): Promise<FileHandle> {
    try {
      return await open(this.name, constants.O_RDONLY | constants.O_NONBLOCK);
    } catch (error) {
      throw this.#invalid(reasonOf(error), error);
    }
  }

  #invalid(reason: string, cause?: unknown): CoreError {
    return new CoreError('SYSTEM_IMAGE_INVALID', { source: this.name, reason }, { cause });
  }
}

async function readAll(file: FileHandle, { at, size }: ArchivePlace): Promise<Buffer> {
  const bytes = Buffer.alloc(size);
  for (let done = 0; done < size; ) {
    const { bytesRead } = await file.read(bytes, done, size - done, at + done);
    if (bytesRead === 0) return bytes.subarray(0, done);
    done += bytesRead;
  }
  return bytes;
}
