/** Bytes of files and streams in pieces of a bounded size. */
import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { invalid, Unreadable } from './head.ts';

export const PIECE = 256 << 10;

/**
 * Each of them but the last is whole. `into` is used for all of them, so that nothing waits for the collector of
 * garbage: a piece is then of use until the next one is asked for. Throws Unreadable for a file that grew shorter
 * meanwhile or cannot be read.
 */
export async function* pieces(file: FileHandle, size: number, into?: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < size; ) {
    const length = Math.min(PIECE, size - at);
    const buffer = into?.subarray(0, length) ?? Buffer.alloc(length);
    for (let filled = 0; filled < buffer.length; ) {
      const { bytesRead } = await file
        .read(buffer, filled, buffer.length - filled, at + filled)
        .catch((thrown: NodeJS.ErrnoException) => {
          throw new Unreadable(`it cannot be read: ${thrown.code ?? thrown.message}`, thrown);
        });
      if (bytesRead === 0) throw new Unreadable('it was cut meanwhile');
      filled += bytesRead;
    }
    at += buffer.length;
    yield buffer;
  }
}

/** Everything that a file holds. */
export async function* bytesOf(file: FileHandle): AsyncGenerator<Buffer> {
  const { size } = await file.stat();
  yield* pieces(file, size);
}

/** A stream that is read from its beginning to its end. Throws BACKUP_INVALID where it is too short. */
export class ByteReader implements AsyncDisposable {
  readonly #from: AsyncIterator<Uint8Array>;
  readonly #whole = createHash('sha256');
  #buffer: Buffer = Buffer.alloc(0);

  constructor(from: AsyncIterable<Uint8Array>) {
    this.#from = from[Symbol.asyncIterator]();
  }

  /** Hash of all bytes that were taken. */
  digest(): string {
    return this.#whole.copy().digest('hex');
  }

  async over(): Promise<boolean> {
    return this.#buffer.length === 0 && !(await this.#more());
  }

  async take(length: number): Promise<Buffer> {
    while (this.#buffer.length < length) if (!(await this.#more())) throw invalid('it ends in the middle');
    return this.#cut(length);
  }

  /** The next line as an object. */
  async json<T>(most: number): Promise<T> {
    let end = this.#buffer.indexOf(10);
    while (end < 0) {
      if (this.#buffer.length > most) throw invalid('a line of it is too long');
      const from = this.#buffer.length;
      if (!(await this.#more())) throw invalid('it ends in the middle');
      end = this.#buffer.indexOf(10, from);
    }
    return objectIn<T>(this.#cut(end + 1).toString('utf8'));
  }

  async *pieces(size: number): AsyncGenerator<Buffer> {
    for (let left = size; left > 0; ) {
      if (this.#buffer.length === 0 && !(await this.#more())) throw invalid('it ends in the middle');
      const piece = this.#cut(Math.min(left, this.#buffer.length));
      left -= piece.length;
      yield piece;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#from.return?.();
  }

  #cut(length: number): Buffer {
    const bytes = this.#buffer.subarray(0, length);
    this.#buffer = this.#buffer.subarray(length);
    this.#whole.update(bytes);
    return bytes;
  }

  async #more(): Promise<boolean> {
    const { done, value } = await this.#from.next();
    if (done === true) return false;
    this.#buffer = this.#buffer.length === 0 ? Buffer.from(value) : Buffer.concat([this.#buffer, value]);
    return true;
  }
}

/** Throws BACKUP_INVALID. */
export function objectIn<T>(text: string): T {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as T;
  } catch {
    // told below
  }
  throw invalid('a line of it is no JSON');
}
