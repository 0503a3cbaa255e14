/** What left the device: written down before it leaves, in a file that a crash cannot spoil but for its last line. */
import { mkdir, open, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { LedgerEntry } from '@device-core/plugin-api';
import { replaceFile, syncName } from '@device-core/plugin-api/durable';

export class Ledger {
  readonly #file: string;
  readonly #bound: number;
  #entries: LedgerEntry[] = [];
  /** Lines of another form, as a newer Core may have written them: not shown, never thrown away before they are the oldest. */
  #others: string[] = [];
  #lines = 0;
  #writing: Promise<void> = Promise.resolve();
  /** Lines that were found broken. */
  broken = 0;

  /** `bound` entries are kept, the newest. */
  constructor(file: string, bound: number) {
    this.#file = file;
    this.#bound = bound;
  }

  async load(): Promise<void> {
    await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
    const text = await readFile(this.#file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw error;
    });
    const lines = text.split('\n').filter((line) => line !== '');
    this.#others = [];
    this.#entries = lines.flatMap((line) => {
      const entry = parse(line);
      if (entry === 'other') this.#others.push(line);
      else if (entry === 'broken') this.broken++;
      return typeof entry === 'object' ? [entry] : [];
    });
    this.#lines = lines.length;
    // A line that a crash cut off must not swallow the next one.
    if (this.broken > 0 || this.#entries.length > this.#bound || (text !== '' && !text.endsWith('\n')))
      await this.#rewrite();
  }

  /** Newest first. */
  newest(limit: number): readonly LedgerEntry[] {
    return this.#entries.slice(-limit).reverse();
  }

  /** Resolves when it is on the disk: only then may anything leave. */
  append(entry: LedgerEntry): Promise<void> {
    const written = this.#writing.then(() => this.#append(entry));
    this.#writing = written.catch(() => undefined); // the next entry does not suffer from this one
    return written;
  }

  async #append(entry: LedgerEntry): Promise<void> {
    const handle = await open(this.#file, 'a', 0o600);
    try {
      await handle.writeFile(`${JSON.stringify(entry)}\n`);
      await handle.datasync();
    } finally {
      await handle.close();
    }
    if (this.#lines === 0) await syncName(this.#file);
    this.#lines++;
    this.#entries.push(entry);
    if (this.#entries.length > this.#bound) this.#entries.shift();
    if (this.#lines >= 2 * this.#bound + this.#others.length) await this.#rewrite();
  }

  async #rewrite(): Promise<void> {
    this.#entries = this.#entries.slice(-this.#bound);
    this.#others = this.#others.slice(-this.#bound);
    const lines = [...this.#others, ...this.#entries.map((entry) => JSON.stringify(entry))];
    await replaceFile(this.#file, lines.map((line) => `${line}\n`).join(''));
    await syncName(this.#file);
    this.#lines = lines.length;
  }
}

function parse(line: string): LedgerEntry | 'other' | 'broken' {
  try {
    const entry = JSON.parse(line) as Partial<LedgerEntry> | null;
    return typeof entry?.at === 'number' && typeof entry.turn === 'string' && typeof entry.bytes === 'number'
      ? (entry as LedgerEntry)
      : typeof entry === 'object' && entry !== null
        ? 'other'
        : 'broken';
  } catch {
    // Counted by the caller.
    return 'broken';
  }
}
