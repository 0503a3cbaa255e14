/** Departures of one part of the device: written before they leave, in a file of which a crash can spoil only the last line. */
import { dirname } from 'node:path';
import { CoreError, reasonOf } from '@device-core/plugin-api';
import {
  appendFile,
  makeFolder,
  readState,
  replaceFile,
  setAside,
  storageError,
  sweepLeftovers,
} from '@device-core/plugin-api/durable';
import type { DepartureLine, DepartureSum } from '@device-core/plugin-api/inside/services/ledger';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { bytesText, departureText, parseLine, sumText } from './line.ts';
import { Sums } from './sums.ts';

type Entry = Omit<DepartureLine, 'part'>;

/** Departures that wait for the disk at a time. */
const MOST_WAITING = 256;
const MOST_RECEIVERS = 1_000;

export interface PartFileOptions {
  readonly file: string;
  /** So many departures are kept, the newest; older ones are summed up. */
  readonly keep: number;
  /** Another file, whose lines are copied if `file` is absent; it stays the same. */
  readonly former?: string;
}

export class PartFile {
  readonly #options: PartFileOptions;
  #entries: Entry[] = [];
  /** Entries with bytes that are counted and not written yet. */
  readonly #uncounted = new Set<string>();
  /** Lines of another form, as a newer Core may have written them: not shown, never thrown away before they are the oldest. */
  #others: string[] = [];
  #forgotten = new Sums(MOST_RECEIVERS);
  #lines = 0;
  #waiting = 0;
  #writing: Promise<void> = Promise.resolve();
  /** The file has to be written anew before a line can be added. */
  #torn = false;
  #trouble: CoreError | undefined;
  /** Lines that were found broken. */
  broken = 0;
  /** Fault of the whole file. */
  damage: string | undefined;

  constructor(options: PartFileOptions) {
    this.#options = options;
  }

  get file(): string {
    return this.#options.file;
  }

  /** Never rejects for the sake of the file or of the disk. */
  async load(): Promise<void> {
    const { keep, former } = this.#options;
    const own = await this.#text(this.file, true);
    const taken = own === undefined && former !== undefined ? await this.#text(former, false) : undefined;
    const text = own ?? taken ?? '';
    const lines = text.split('\n').filter((line) => line !== '');
    const bytes = new Map<string, number>();
    for (const [place, line] of lines.entries()) {
      const read = parseLine(line, place);
      if (read === 'other') this.#others.push(line);
      else if (read === 'broken') this.broken++;
      else if (read.kind === 'departure') this.#entries.push(read.line);
      else if (read.kind === 'sum') this.#forgotten.add(read.sum);
      else bytes.set(read.id, read.bytes);
    }
    this.#entries = this.#entries.map((entry) => ({ ...entry, ...counted(bytes.get(entry.id)) }));
    this.#lines = lines.length;
    const took = taken !== undefined || (own === undefined && this.damage !== undefined);
    this.#torn = took || this.broken > 0 || this.#entries.length > keep || (text !== '' && !text.endsWith('\n'));
    if (this.#torn) await this.#rewrite().catch(() => undefined); // tried again before the next line is written
  }

  async #text(file: string, ours: boolean): Promise<string | undefined> {
    try {
      if (ours) await sweepLeftovers(file);
    } catch (error) {
      this.#trouble = storageError(file, error); // it is read all the same
    }
    try {
      return await readState(file);
    } catch (error) {
      const aside = async () => (ours ? `it was set aside as ${await setAside(file)}` : 'it stays where it is');
      const outcome = await aside().catch((thrown) => `it cannot be set aside: ${reasonOf(thrown)}`);
      this.damage = `${reasonOf(error)}; what was written down before is not shown; ${outcome}`;
      return ours ? '' : undefined;
    }
  }

  /** Adds to the health what is wrong, if anything. A disk that refused a line is asked whether it takes it by now. */
  async tell(part: string, report: HealthReport): Promise<void> {
    if (this.damage !== undefined) report.warn('STATE_CORRUPT', this.damage);
    if (this.#others.length > 0)
      report.warn('STATE_NEWER', `${this.file}: ${this.#others.length} lines of another form are kept and not shown`);
    if (this.#trouble) await this.#queued(() => this.#rewrite()).catch(() => undefined); // told as the trouble
    if (!this.#trouble) return;
    const { code, message } = this.#trouble;
    report.add(`${part}.ledger`, {
      status: 'error',
      code,
      message: `nothing is sent, for it could not be written down before: ${message}`,
    });
  }

  /** Newest first. */
  newest(limit: number, sender?: string): readonly Entry[] {
    const own = sender === undefined ? this.#entries : this.#entries.filter((entry) => entry.for === sender);
    return own.slice(-limit).reverse();
  }

  addTo(sums: Sums): void {
    for (const entry of this.#entries) sums.add(entry);
    for (const sum of this.#forgotten.all()) sums.add(sum);
  }

  /** Resolves when it is on the disk: only then may anything leave. */
  async append(entry: Entry): Promise<void> {
    if (this.#waiting >= MOST_WAITING) throw new CoreError('BUSY', { what: 'a departure', limit: MOST_WAITING });
    this.#waiting++;
    try {
      await this.#queued(() => this.#append(entry));
    } finally {
      this.#waiting--;
    }
  }

  /** True where these are the first bytes that wait to be written. What is no more kept is not counted. */
  count(id: string, bytes: number): boolean {
    const at = this.#entries.findLastIndex((entry) => entry.id === id);
    const entry = this.#entries[at];
    if (!entry) return false;
    this.#entries[at] = { ...entry, bytes: (entry.bytes ?? 0) + bytes };
    const first = this.#uncounted.size === 0;
    this.#uncounted.add(id);
    return first;
  }

  /** Writes down what was counted. Rejects as append() does. */
  flush(): Promise<void> {
    if (this.#uncounted.size === 0) return this.#writing;
    return this.#queued(async () => {
      const ids = [...this.#uncounted];
      const known = this.#entries.filter(({ id }) => this.#uncounted.has(id));
      this.#uncounted.clear();
      try {
        await this.#write(known.map(({ id, bytes = 0 }) => bytesText(id, bytes)));
      } catch (error) {
        for (const id of ids) this.#uncounted.add(id);
        throw error;
      }
    });
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

  async #append(entry: Entry): Promise<void> {
    await this.#write([departureText(entry)]);
    this.#entries.push(entry);
    if (this.#entries.length > this.#options.keep) this.#forgotten.add(this.#entries.shift()!);
    await this.#shorten();
  }

  async #write(lines: readonly string[]): Promise<void> {
    await makeFolder(dirname(this.file));
    if (this.#torn) await this.#rewrite();
    await appendFile(this.file, lines.join(''));
    this.#lines += lines.length;
  }

  /** The entry is written: a file that stays too long for a while is no reason to send nothing. */
  async #shorten(): Promise<void> {
    const least = this.#others.length + this.#forgotten.all().length;
    if (this.#lines >= 2 * this.#options.keep + least) await this.#rewrite().catch(() => undefined);
  }

  async #rewrite(): Promise<void> {
    const { keep } = this.#options;
    for (const entry of this.#entries.splice(0, Math.max(0, this.#entries.length - keep))) this.#forgotten.add(entry);
    this.#others = this.#others.slice(-keep);
    const lines = [
      ...this.#others.map((line) => `${line}\n`),
      ...this.#forgotten.all().map((sum: DepartureSum) => sumText(sum)),
      ...this.#entries.map((entry) => departureText(entry)),
    ];
    await makeFolder(dirname(this.file));
    await replaceFile(this.file, lines.join(''));
    this.#lines = lines.length;
    this.#torn = false;
    this.#uncounted.clear();
  }
}

const counted = (bytes: number | undefined) => (bytes === undefined ? {} : { bytes });
