import { mkdir, open, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

const TAIL_LINES = 10;
const TAIL_WIDTH = 200;

/** An app's log file, put aside as `<file>.1` when it is full. Whoever writes waits for the disk: nothing piles up and nothing is lost. */
export class AppLog {
  readonly #file: string;
  readonly #limit: number;
  readonly #onError: (thrown: unknown) => void;
  #turn: Promise<void> = Promise.resolve();
  #tail: string[] = [];
  #rest = '';
  #failing = false;

  constructor(file: string, limit: number, onError: (thrown: unknown) => void) {
    this.#file = file;
    this.#limit = limit;
    this.#onError = onError;
  }

  /** Output of a process until it ends; the last lines of it are kept at hand. */
  async follow(output: AsyncIterable<string>): Promise<void> {
    try {
      for await (const text of output) {
        this.#remember(text);
        await this.write(text);
      }
    } catch (thrown) {
      this.#onError(thrown);
    }
  }

  /** Never rejects: an app runs on although its log cannot be written. */
  write(text: string): Promise<void> {
    this.#turn = this.#turn
      .then(() => this.#appendAll(Buffer.from(text, 'utf8')))
      .then(
        () => {
          this.#failing = false;
        },
        (thrown) => {
          // A full disk is told once, not with every line.
          if (!this.#failing) this.#onError(thrown);
          this.#failing = true;
        },
      );
    return this.#turn;
  }

  /** The last lines that the process wrote since forget(). */
  tail(lines: number): string[] {
    return [...this.#tail, this.#rest].filter((line) => line.trim() !== '').slice(-lines);
  }

  forget(): void {
    this.#tail = [];
    this.#rest = '';
  }

  /** One read of a busy pipe may be more than a whole file takes. */
  async #appendAll(bytes: Buffer): Promise<void> {
    for (let from = 0; from < bytes.length; from += this.#limit)
      await this.#append(bytes.subarray(from, from + this.#limit));
  }

  async #append(bytes: Buffer): Promise<void> {
    await mkdir(dirname(this.#file), { recursive: true, mode: 0o750 });
    const size = await stat(this.#file).then(
      (info) => info.size,
      () => 0,
    );
    if (size > 0 && size + bytes.length > this.#limit) await rename(this.#file, `${this.#file}.1`);
    const handle = await open(this.#file, 'a', 0o640);
    try {
      await handle.appendFile(bytes);
    } finally {
      await handle.close();
    }
  }

  #remember(text: string): void {
    const lines = (this.#rest + text).split('\n').map((line) => line.slice(0, TAIL_WIDTH));
    this.#rest = lines.pop() ?? '';
    this.#tail = [...this.#tail, ...lines].slice(-TAIL_LINES);
  }
}
