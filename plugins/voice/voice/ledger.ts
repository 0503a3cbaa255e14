/** What left the device: written down before it leaves, in a file that a crash cannot spoil but for its last line. */
import { dirname } from 'node:path';
import { type CoreError, type HealthReport, type LedgerEntry, reasonOf } from '@device-core/plugin-api';
import {
  appendFile,
  makeFolder,
  readState,
  replaceFile,
  setAside,
  storageError,
  sweepLeftovers,
} from '@device-core/plugin-api/durable';

export class Ledger {
  readonly file: string;
  readonly #bound: number;
  #entries: LedgerEntry[] = [];
  /** Lines of another form, as a newer Core may have written them: not shown, never thrown away before they are the oldest. */
  #others: string[] = [];
  #lines = 0;
  #writing: Promise<void> = Promise.resolve();
  /** The file has to be written anew before a line can be added. */
  #torn = false;
  #trouble: CoreError | undefined;
  /** Lines that were found broken. */
  broken = 0;
  /** What was wrong with the whole file. */
  damage: string | undefined;

  /** `bound` entries are kept, the newest. */
  constructor(file: string, bound: number) {
    this.file = file;
    this.#bound = bound;
  }

  /** Never rejects for the sake of the file or of the disk. */
  async load(): Promise<void> {
    const text = await this.#text();
    const lines = text.split('\n').filter((line) => line !== '');
    this.#others = [];
    this.#entries = lines.flatMap((line) => {
      const entry = parse(line);
      if (entry === 'other') this.#others.push(line);
      else if (entry === 'broken') this.broken++;
      return typeof entry === 'object' ? [entry] : [];
    });
    this.#lines = lines.length;
    this.#torn = this.broken > 0 || this.#entries.length > this.#bound || (text !== '' && !text.endsWith('\n'));
    if (this.#torn) await this.#rewrite().catch(() => undefined); // tried again before the next line is written
  }

  async #text(): Promise<string> {
    try {
      await makeFolder(dirname(this.file));
      await sweepLeftovers(this.file);
    } catch (error) {
      this.#trouble = storageError(this.file, error); // it is read all the same
    }
    try {
      return (await readState(this.file)) ?? '';
    } catch (error) {
      const outcome = await setAside(this.file).then(
        (aside) => `it was set aside as ${aside}`,
        (thrown) => `it cannot be set aside: ${reasonOf(thrown)}`,
      );
      this.damage = `${reasonOf(error)}; what was written down before is not shown; ${outcome}`;
      return '';
    }
  }

  /** Adds to the health what is wrong, if anything. A disk that refused a line is asked whether it takes it by now. */
  async tell(report: HealthReport): Promise<void> {
    if (this.damage !== undefined) report.warn('STATE_CORRUPT', this.damage);
    if (this.#trouble) await this.#queued(() => this.#rewrite()).catch(() => undefined); // told as the trouble
    if (!this.#trouble) return;
    const { code, message } = this.#trouble;
    report.add('voice.ledger', {
      status: 'error',
      code,
      message: `nothing is sent to the cloud, for it could not be written down before: ${message}`,
    });
  }

  /** Newest first. */
  newest(limit: number): readonly LedgerEntry[] {
    return this.#entries.slice(-limit).reverse();
  }

  /** Resolves when it is on the disk: only then may anything leave. */
  append(entry: LedgerEntry): Promise<void> {
    return this.#queued(() => this.#append(entry));
  }

  #queued(work: () => Promise<void>): Promise<void> {
    const written = this.#writing.then(work).then(
      () => {
        this.#trouble = undefined;
      },
      (error) => {
        this.#trouble = storageError(this.file, error);
        throw this.#trouble;
      },
    );
    this.#writing = written.catch(() => undefined); // the next entry does not suffer from this one
    return written;
  }

  async #append(entry: LedgerEntry): Promise<void> {
    await makeFolder(dirname(this.file));
    if (this.#torn) await this.#rewrite();
    await appendFile(this.file, `${JSON.stringify(entry)}\n`);
    this.#lines++;
    this.#entries.push(entry);
    if (this.#entries.length > this.#bound) this.#entries.shift();
    // The entry is written: a file that stays too long for a while is no reason to send nothing.
    if (this.#lines >= 2 * this.#bound + this.#others.length) await this.#rewrite().catch(() => undefined);
  }

  async #rewrite(): Promise<void> {
    this.#entries = this.#entries.slice(-this.#bound);
    this.#others = this.#others.slice(-this.#bound);
    const lines = [...this.#others, ...this.#entries.map((entry) => JSON.stringify(entry))];
    await replaceFile(this.file, lines.map((line) => `${line}\n`).join(''));
    this.#lines = lines.length;
    this.#torn = false;
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
