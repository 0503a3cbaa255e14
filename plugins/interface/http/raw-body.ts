/** A body that is no JSON (decisions D5b): it goes to a file as it comes, and is never held in memory. */
import { randomUUID } from 'node:crypto';
import { open, readdir, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { type Caller, CoreError, reasonOf } from '@device-core/plugin-api';
import { isStorageTrouble, makeFolder, storageError } from '@device-core/plugin-api/durable';
import { packedRefusal } from './body.ts';

const RAW_TYPE = 'application/octet-stream';
/** Bodies that are received at the same time, of apps and of others: a slow line of the ones keeps no place of the others. */
const AT_ONCE = 4;
const OF_ONE_APP = 2;

export class RawBodies {
  readonly #folder: string;
  readonly #open = new Set<{ readonly caller: Caller }>();
  #swept: Promise<void> | undefined;

  /** `folder` holds nothing else: what a former Core left there is removed. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Resolves with the file. Rejects with CONTENT_TYPE_INVALID, BODY_TOO_LARGE, BUSY, REQUEST_INVALID, and the codes of
   * a disk; then no file is left.
   */
  async receive(request: IncomingMessage, limit: number, caller: Caller): Promise<string> {
    const { headers } = request;
    const type = headers['content-type'];
    if (type !== RAW_TYPE)
      throw new CoreError('CONTENT_TYPE_INVALID', { wanted: RAW_TYPE, contentType: type?.slice(0, 80) ?? 'absent' });
    const packed = packedRefusal(headers, RAW_TYPE);
    if (packed) throw packed;
    if (Number(headers['content-length']) > limit) throw tooLarge(limit);
    this.#checkRoom(caller);
    const place = { caller };
    this.#open.add(place);
    const file = join(this.#folder, randomUUID());
    try {
      this.#swept ??= this.#sweep();
      await this.#swept;
      await this.#write(request, file, limit);
      return file;
    } catch (thrown) {
      await this.discard(file);
      throw thrown;
    } finally {
      this.#open.delete(place);
    }
  }

  /** Throws BUSY. */
  #checkRoom({ kind, id }: Caller): void {
    const alike = [...this.#open].filter(({ caller }) => (caller.kind === 'app') === (kind === 'app'));
    if (alike.length >= AT_ONCE) throw new CoreError('BUSY', { what: 'an upload', limit: AT_ONCE });
    if (kind === 'app' && alike.filter(({ caller }) => caller.id === id).length >= OF_ONE_APP)
      throw new CoreError('BUSY', { what: 'an upload', limit: `${OF_ONE_APP} of this app` });
  }

  /** Removes the file unless the operation has taken it away. */
  async discard(file: string): Promise<void> {
    await rm(file, { force: true });
  }

  async #sweep(): Promise<void> {
    await makeFolder(this.#folder);
    for (const name of await readdir(this.#folder)) await rm(join(this.#folder, name), { force: true });
  }

  async #write(request: IncomingMessage, file: string, limit: number): Promise<void> {
    await using handle = await open(file, 'wx', 0o600);
    let length = 0;
    try {
      // It is not destroyed where that fails: its client is told why.
      for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        length += chunk.length;
        if (length > limit) throw tooLarge(limit);
        await handle.writeFile(chunk);
      }
    } catch (thrown) {
      const disk = storageError(file, thrown);
      if (thrown instanceof CoreError || isStorageTrouble(disk)) throw disk;
      throw new CoreError('REQUEST_INVALID', { reason: reasonOf(thrown) }, { cause: thrown });
    }
  }
}

function tooLarge(limit: number): CoreError {
  return new CoreError('BODY_TOO_LARGE', { limit, what: 'request body' });
}
