/** An image folder as a plain tar, in one file: its table of contents is read first, and nothing is unpacked but the blobs that are asked for. */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { CoreError, reasonOf } from '@device-core/plugin-api';
import { IMAGE_LIST, IMAGE_SIGNATURE, LONGEST_LIST } from '@device-core/plugin-api/image';
import { copyPart } from './copy-part.ts';
import { LONGEST_SIGNATURE } from './folder-source.ts';
import type { Blob, BlobOptions, Offer, Source } from './repository.ts';

const BLOCK = 512;
const MOST_ENTRIES = 100_010;
const MOST_BYTES = 8 * 2 ** 30;
const MOST_EXTENDED = 64 << 10;
const NAME = /^(?:image\.json|image\.sig|blobs\/[0-9a-f]{64}\.zst)$/;
/** Files; extended headers, which are passed over. */
const FILES = ['0', '\0', ''];
const PASSED = ['x', 'g'];
const FOLDER = '5';

interface Place {
  readonly at: number;
  readonly size: number;
}

export class ArchiveSource implements Source {
  readonly kind = 'archive';
  readonly name: string;
  #contents: Promise<ReadonlyMap<string, Place>> | undefined;

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
    const { at, size } = await this.#place(name);
    if (size > most) throw this.#invalid(`${name} has more than ${most} bytes`);
    await using file = await this.#open();
    return readAll(file, at, size);
  }

  async #place(name: string): Promise<Place> {
    const place = (await this.#table()).get(name);
    if (!place) throw this.#invalid(`${name} is not in it`);
    return place;
  }

  #table(): Promise<ReadonlyMap<string, Place>> {
    this.#contents ??= this.#scan();
    return this.#contents;
  }

  async #scan(): Promise<ReadonlyMap<string, Place>> {
    await using file = await this.#open();
    const { size: length } = await file.stat();
    const found = new Map<string, Place>();
    let entries = 0;
    for (let at = 0; at + BLOCK <= length; entries += 1) {
      const header = await readAll(file, at, BLOCK);
      if (header.every((byte) => byte === 0)) return found;
      if (entries >= MOST_ENTRIES) throw this.#invalid(`it has more than ${MOST_ENTRIES} entries`);
      const { name, type, size } = this.#entry(header);
      const end = at + BLOCK + Math.ceil(size / BLOCK) * BLOCK;
      if (size > MOST_BYTES || at + BLOCK + size > length) throw this.#invalid(`it ends within ${name}`);
      if (PASSED.includes(type) && size > MOST_EXTENDED) throw this.#invalid('it has a header that is too long');
      if (FILES.includes(type)) {
        if (!NAME.test(name)) throw this.#invalid(`${JSON.stringify(name.slice(0, 120))} is no part of an image`);
        if (found.has(name)) throw this.#invalid(`${name} comes twice`);
        found.set(name, { at: at + BLOCK, size });
      } else if (type !== FOLDER && !PASSED.includes(type))
        throw this.#invalid(`${JSON.stringify(name.slice(0, 120))} is neither a file nor a folder`);
      at = end;
    }
    throw this.#invalid('it has no end');
  }

  #entry(header: Buffer): { readonly name: string; readonly type: string; readonly size: number } {
    const text = (from: number, to: number) => header.toString('latin1', from, to).replace(/\0.*$/s, '');
    const number = (from: number, to: number) => Number.parseInt(text(from, to).trim() || '0', 8);
    let sum = 0;
    for (let at = 0; at < BLOCK; at += 1) sum += at >= 148 && at < 156 ? 32 : (header[at] ?? 0);
    const size = number(124, 136);
    if (sum !== number(148, 156) || !Number.isSafeInteger(size) || size < 0) throw this.#invalid('it is no tar');
    const prefix = text(257, 262) === 'ustar' ? text(345, 500) : '';
    const name = `${prefix === '' ? '' : `${prefix}/`}${text(0, 100)}`.replace(/^(?:\.\/)+/, '');
    return { name, type: header.toString('latin1', 156, 157), size };
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

async function readAll(file: FileHandle, at: number, size: number): Promise<Buffer> {
  const bytes = Buffer.alloc(size);
  for (let done = 0; done < size; ) {
    const { bytesRead } = await file.read(bytes, done, size - done, at + done);
    if (bytesRead === 0) return bytes.subarray(0, done);
    done += bytesRead;
  }
  return bytes;
}
