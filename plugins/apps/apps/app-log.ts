import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Clock, redactText } from '@device-core/plugin-api';
import { appendFile } from '@device-core/plugin-api/durable';
import { entryOf, type OutputEntry, type OutputStream } from './output-entry.ts';

/** A stack of a long chain of causes fits. */
const TAIL_LINES = 80;
const TAIL_WIDTH = 400;
/** What has no end of a line by then is written without one. */
const LONGEST_LINE = 8_192;
/** One look for secrets. */
const LONGEST_PIECE = 32_768;
/** Tokens of launches that may still be printed: the present one and that before it. */
const MOST_SECRETS = 2;

export interface AppLogOptions {
  readonly file: string;
  /** Bytes. */
  readonly limit: number;
  readonly clock: Clock;
  readonly onError: (thrown: unknown) => void;
  /** Hears of each line that the app printed, after secrets were hidden. */
  readonly onEntry?: (entry: OutputEntry) => void;
}

/**
 * An app's log file: one JSON object a line, with time and level. It is put aside as `<file>.1` when it is full. Whoever writes waits for the disk:
 * nothing piles up and nothing is lost.
 */
export class AppLog {
  readonly #options: AppLogOptions;
  #turn: Promise<void> = Promise.resolve();
  #tails: Record<OutputStream, string[]> = { stdout: [], stderr: [] };
  #failing = false;
  #secrets: readonly string[] = [];

  constructor(options: AppLogOptions) {
    this.#options = options;
  }

  /** A text that is never written: the token of a launch. The last two are remembered. */
  conceal(secret: string): void {
    this.#secrets = [...this.#secrets, secret].slice(-MOST_SECRETS);
  }

  /** Output of a process until it ends; the last lines of it are kept at hand. */
  async follow(output: AsyncIterable<string>, stream: OutputStream): Promise<void> {
    let rest = '';
    try {
      // A secret may stand in two pieces of output: whole lines are looked at.
      for await (const text of output) {
        const end = `${rest}${text}`.lastIndexOf('\n') + 1;
        const all = `${rest}${text}`;
        const cut = end === 0 && all.length > LONGEST_LINE ? all.length : end;
        rest = all.slice(cut);
        for (let from = 0; from < cut; from += LONGEST_PIECE)
          await this.#take(all.slice(from, Math.min(cut, from + LONGEST_PIECE)), stream);
      }
      if (rest !== '') await this.#take(rest, stream);
    } catch (thrown) {
      this.#options.onError(thrown);
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
          if (!this.#failing) this.#options.onError(thrown);
          this.#failing = true;
        },
      );
    return this.#turn;
  }

  /** The last lines that the process wrote since forget(): to stderr, or to stdout where that is silent. */
  tail(): readonly string[] {
    const { stdout, stderr } = this.#tails;
    return stderr.some((line) => line.trim() !== '') ? stderr : stdout;
  }

  forget(): void {
    this.#tails = { stdout: [], stderr: [] };
  }

  async #take(text: string, stream: OutputStream): Promise<void> {
    const { clock, onEntry } = this.#options;
    const lines = this.#hide(redactText(text)).split('\n');
    if (lines.at(-1) === '') lines.pop();
    const kept = lines.map((line) => line.slice(0, TAIL_WIDTH));
    this.#tails[stream] = [...this.#tails[stream], ...kept].slice(-TAIL_LINES);
    const entries = lines.filter((line) => line !== '').map((line) => entryOf(line, stream, clock.now()));
    for (const entry of entries) onEntry?.(entry);
    // What is put aside ends with a whole line.
    let batch = '';
    for (const entry of entries) {
      // The level tells enough of where it was printed.
      const { from: _from, ...line } = entry;
      batch += `${JSON.stringify(line)}\n`;
      if (batch.length < LONGEST_LINE) continue;
      await this.write(batch);
      batch = '';
    }
    if (batch !== '') await this.write(batch);
  }

  #hide(text: string): string {
    return this.#secrets.reduce((all, secret) => all.replaceAll(secret, '[redacted]'), text);
  }

  /** One read of a busy pipe may be more than a whole file takes. */
  async #appendAll(bytes: Buffer): Promise<void> {
    const { limit } = this.#options;
    for (let from = 0; from < bytes.length; from += limit) await this.#append(bytes.subarray(from, from + limit));
  }

  async #append(bytes: Buffer): Promise<void> {
    const { file, limit } = this.#options;
    await mkdir(dirname(file), { recursive: true, mode: 0o750 });
    await appendFile(file, bytes, { mode: 0o640, sync: false, most: limit });
  }
}
