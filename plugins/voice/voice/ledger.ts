/** What left the device: written down before it leaves, in a file that a crash cannot spoil but for its last line. */
import { mkdir, open, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { LedgerEntry } from '@device-core/plugin-api';
import { replaceFile, syncName } from '@device-core/plugin-api/durable';

export class Ledger {
  readonly #file: string;
  readonly #bound: number;
  #entries: LedgerEntry[] = [];
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
    this.#entries = lines.flatMap((line) => {
      const entry = parse(line);
      if (!entry) this.broken++;
      return entry ? [entry] : [];
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
    if (this.#lines >= 2 * this.#bound) await this.#rewrite();
  }

  async #rewrite(): Promise<void> {
    this.#entries = this.#entries.slice(-this.#bound);
    await replaceFile(this.#file, this.#entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
    await syncName(this.#file);
    this.#lines = this.#entries.length;
  }
}

function parse(line: string): LedgerEntry | undefined {
  try {
    const entry = JSON.parse(line) as Partial<LedgerEntry> | null;
    return typeof entry?.at === 'number' && typeof entry.turn === 'string' && typeof entry.bytes === 'number'
      ? (entry as LedgerEntry)
      : undefined;
  } catch {
    // Counted as broken by the caller.
    return undefined;
  }
}
