import { type FileHandle, open, stat } from 'node:fs/promises';

const BLOCK = 64 << 10;
const NEWLINE = 10;
/** A longer line is not one. */
const MAX_LINE = 1 << 20;

/**
 * New lines of a log file while it is written and put aside. The file itself is the queue: a slow reader costs no
 * memory here. What is written between the last look and the second of two rotations is missed; at 5 MB a file and a
 * look every 250 ms a device never gets there.
 */
export class LogFollower implements AsyncDisposable {
  readonly #file: string;
  #handle: FileHandle | undefined;
  #inode = 0;
  #at = 0;
  #rest: Buffer = Buffer.alloc(0);

  constructor(file: string) {
    this.#file = file;
  }

  /** Begins at the end of what is there. Resolves with where that is, in bytes. */
  async start(): Promise<number> {
    await this.#open();
    if (this.#handle) this.#at = (await this.#handle.stat()).size;
    return this.#at;
  }

  /** The lines that have come since the last call, some of them if there are many; none: there is nothing new. */
  async take(): Promise<readonly string[]> {
    const lines = await this.#read();
    if (lines.length > 0) return lines;
    const now = await stat(this.#file).catch(absent);
    if (!now || (now.ino === this.#inode && now.size >= this.#at)) return [];
    const last = await this.#read(); // written after the look above, before it was put aside
    if (last.length > 0) return last;
    await this.#close(); // it was put aside, or cut
    await this.#open();
    return await this.#read();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }

  async #read(): Promise<readonly string[]> {
    if (!this.#handle) return [];
    for (;;) {
      const block = Buffer.allocUnsafe(BLOCK);
      const { bytesRead } = await this.#handle.read(block, 0, BLOCK, this.#at);
      if (bytesRead === 0) return [];
      this.#at += bytesRead;
      const all = Buffer.concat([this.#rest, block.subarray(0, bytesRead)]);
      const end = all.lastIndexOf(NEWLINE) + 1;
      this.#rest = all.length - end > MAX_LINE ? Buffer.alloc(0) : Buffer.from(all.subarray(end));
      const lines = all.toString('utf8', 0, end).split('\n').filter(Boolean);
      if (lines.length > 0) return lines;
    }
  }

  async #open(): Promise<void> {
    this.#handle = await open(this.#file, 'r').catch(absent);
    this.#at = 0;
    this.#rest = Buffer.alloc(0);
    if (this.#handle) this.#inode = (await this.#handle.stat()).ino;
  }

  async #close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }
}

function absent(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
  throw error;
}
