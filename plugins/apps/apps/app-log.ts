import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { redactText } from '@device-core/plugin-api';
import { appendFile } from '@device-core/plugin-api/durable';

const TAIL_LINES = 10;
const TAIL_WIDTH = 200;
/** What has no end of a line by then is written without one. */
const LONGEST_LINE = 8_192;
/** One look for secrets. */
const LONGEST_PIECE = 32_768;
/** Tokens of launches that may still be printed: the present one and that before it. */
const MOST_SECRETS = 2;

/** An app's log file, put aside as `<file>.1` when it is full. Whoever writes waits for the disk: nothing piles up and nothing is lost. */
export class AppLog {
  readonly #file: string;
  readonly #limit: number;
  readonly #onError: (thrown: unknown) => void;
  #turn: Promise<void> = Promise.resolve();
  #tail: string[] = [];
  #rest = '';
  #failing = false;
  #secrets: readonly string[] = [];

  constructor(file: string, limit: number, onError: (thrown: unknown) => void) {
    this.#file = file;
    this.#limit = limit;
    this.#onError = onError;
  }

  /** A text that is never written: the token of a launch. The last two are remembered. */
  conceal(secret: string): void {
    this.#secrets = [...this.#secrets, secret].slice(-MOST_SECRETS);
  }

  /** Output of a process until it ends; the last lines of it are kept at hand. */
  async follow(output: AsyncIterable<string>): Promise<void> {
    let rest = '';
    const take = async (text: string) => {
      const shown = this.#hide(redactText(text));
      this.#remember(shown);
      await this.write(shown);
    };
    try {
      // A secret may stand in two pieces of output: whole lines are looked at.
      for await (const text of output) {
        const end = `${rest}${text}`.lastIndexOf('\n') + 1;
        const all = `${rest}${text}`;
        const cut = end === 0 && all.length > LONGEST_LINE ? all.length : end;
        rest = all.slice(cut);
        for (let from = 0; from < cut; from += LONGEST_PIECE)
          await take(all.slice(from, Math.min(cut, from + LONGEST_PIECE)));
      }
      if (rest !== '') await take(rest);
    } catch (thrown) {
      this.#onError(thrown);
    }
  }

  /** Never rejects: an app runs on although its log cannot be written. */
  write(text: string): Promise<void> {
    this.#turn = this.#turn
      .then(() => this.#appendAll(Buffer.from(this.#hide(text), 'utf8')))
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

  #hide(text: string): string {
    return this.#secrets.reduce((all, secret) => all.replaceAll(secret, '[redacted]'), text);
  }

  /** One read of a busy pipe may be more than a whole file takes. */
  async #appendAll(bytes: Buffer): Promise<void> {
    for (let from = 0; from < bytes.length; from += this.#limit)
      await this.#append(bytes.subarray(from, from + this.#limit));
  }

  async #append(bytes: Buffer): Promise<void> {
    await mkdir(dirname(this.#file), { recursive: true, mode: 0o750 });
    await appendFile(this.#file, bytes, { mode: 0o640, sync: false, most: this.#limit });
  }

  #remember(text: string): void {
    const lines = (this.#rest + text).split('\n').map((line) => line.slice(0, TAIL_WIDTH));
    this.#rest = lines.pop() ?? '';
    this.#tail = [...this.#tail, ...lines].slice(-TAIL_LINES);
  }
}
