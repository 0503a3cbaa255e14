/** An image folder of the device, on a stick say: `image.json`, `image.sig` and blobs. */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreError, reasonOf } from '@device-core/plugin-api';
import { IMAGE_LIST, IMAGE_SIGNATURE, LONGEST_LIST } from '@device-core/plugin-api/inside/image';
import { copyPart } from './copy-part.ts';
import type { Blob, BlobOptions, Offer, Source } from './repository.ts';

export const LONGEST_SIGNATURE = 64 << 10;
/** Flags against a file that was replaced: a pipe does not block, a link is not followed. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

export class FolderSource implements Source {
  readonly kind = 'folder';
  readonly name: string;

  constructor(folder: string) {
    this.name = folder;
  }

  async newest(): Promise<Offer> {
    const list = await this.#read(IMAGE_LIST, LONGEST_LIST);
    const signatures = (await this.#read(IMAGE_SIGNATURE, LONGEST_SIGNATURE)).toString('utf8');
    return { list, signatures, compressed: new Map() };
  }

  async fetchBlob({ sha256 }: Blob, to: string, options: BlobOptions): Promise<void> {
    await using file = await this.#open(`blobs/${sha256}.zst`);
    const { size } = await file.stat();
    await copyPart({ file, at: 0, size, name: join(this.name, 'blobs', `${sha256}.zst`) }, to, options);
  }

  async #read(name: string, most: number): Promise<Buffer> {
    await using file = await this.#open(name);
    const { size } = await file.stat();
    if (size > most) throw this.#invalid(`${name} has more than ${most} bytes`);
    const bytes = Buffer.alloc(size);
    const { bytesRead } = await file.read(bytes, 0, size, 0);
    return bytes.subarray(0, bytesRead);
  }

  async #open(name: string): Promise<FileHandle> {
    try {
      const file = await open(join(this.name, name), FLAGS);
      if ((await file.stat()).isFile()) return file;
      await file.close();
    } catch (error) {
      throw this.#invalid(`${name}: ${reasonOf(error)}`, error);
    }
    throw this.#invalid(`${name} is no file`);
  }

  #invalid(reason: string, cause?: unknown): CoreError {
    return new CoreError('SYSTEM_IMAGE_INVALID', { source: this.name, reason }, { cause });
  }
}
