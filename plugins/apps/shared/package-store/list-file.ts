import { dirname } from 'node:path';
import { CoreError } from '@device-core/plugin-api';
import {
  isStorageTrouble,
  makeFolder,
  recoverFile,
  replaceFile,
  storageError,
  sweepLeftovers,
} from '@device-core/plugin-api/durable';
import { LIST_FORM, type ListRead, readList } from '@device-core/plugin-api/inside/installed';
import { Serial } from '@device-core/plugin-api/inside/serial';
import type { HealthReport } from '@device-core/plugin-api/services/health';

/** Differences of the two lists. */
export interface ListKind<T> {
  readonly noun: 'app' | 'plugin';
  /** Comment at the top of the file. */
  readonly head: string;
  readonly nothing: T;
  /** Mode of the folder that it lies in. */
  readonly mode?: number;
  /** Consequence where neither the list nor its copy can be read. */
  readonly lost: string;
  /** Work on the list that may wait; without it all may. */
  readonly mostWaiting?: number;
  /** Throws STATE_CORRUPT with the line, STATE_NEWER. */
  parse(text: string, file: string): T;
}

/** `installed.yaml` with its last good copy: whole at any moment, in memory only what is durable. */
export class ListFile<T extends object> {
  readonly file: string;
  /** The fault of the file when it was read. */
  readonly problem: CoreError | undefined;
  readonly #kind: ListKind<T>;
  #value: T;
  #trouble: CoreError | undefined;
  readonly #turns = new Serial();
  #waiting = 0;

  constructor(file: string, kind: ListKind<T>) {
    const { found, problem }: ListRead<T> = readList(file, kind.parse);
    this.file = file;
    this.problem = problem;
    this.#kind = kind;
    this.#value = found ?? kind.nothing;
  }

  get value(): T {
    return this.#value;
  }

  /** Why the last write failed; undefined when it did not. */
  get trouble(): CoreError | undefined {
    return this.#trouble;
  }

  /** A newer Core wrote the file, and will want it back: it and what belongs to it stay as they are. */
  get newer(): boolean {
    return this.problem?.code === 'STATE_NEWER';
  }

  /** Keeps a damaged file for a person to look at, and puts what is in use in its place. */
  async mend(): Promise<void> {
    if (this.newer) return;
    await this.#attempt(async () => {
      await sweepLeftovers(this.file);
      if (this.problem) await recoverFile(this.file, await this.#textOf(this.#value));
    });
  }

  /** Replaces the members that are given. Durable when it resolves. Throws STATE_UNWRITABLE, STATE_NEWER, STORAGE_FULL, STORAGE_READ_ONLY,
   * STORAGE_FAILED; then nothing has changed. */
  async write(change: Partial<T>): Promise<void> {
    if (this.problem && this.newer) throw this.problem;
    const value = { ...this.#value, ...change };
    await this.#attempt(async () => {
      const text = await this.#textOf(value);
      await makeFolder(dirname(this.file), this.#kind.mode);
      await replaceFile(this.file, text, { lastGood: true });
    });
    this.#value = value;
  }

  /** Does work on the list when all that was asked for before is done. Throws BUSY. */
  async serial<R>(work: () => Promise<R>): Promise<R> {
    const { noun, mostWaiting: limit = Number.POSITIVE_INFINITY } = this.#kind;
    if (this.#waiting >= limit) throw new CoreError('BUSY', { what: `a change of ${noun}s`, limit });
    this.#waiting++;
    return this.#turns.run(work).finally(() => {
      this.#waiting--;
    });
  }

  /** `fault` of the start of the store. A full or read-only disk is told by the system, as long as it is one. */
  report(report: HealthReport, count: number, fault: string | undefined): void {
    const { noun, lost } = this.#kind;
    const id = `${noun}-store`;
    const trouble = this.#trouble;
    if (fault !== undefined) report.add(id, { status: 'error', code: 'STATE_UNWRITABLE', message: fault });
    else if (trouble && !isStorageTrouble(trouble))
      report.add(id, { status: 'error', code: trouble.code, message: trouble.message });
    else report.add(id, { status: 'okay', message: `${count} ${noun}s installed on this device` });
    if (!this.problem) return;
    const { problem, newer } = this;
    if (newer) report.warn('STATE_NEWER', `${problem.message}; what was installed does not run`);
    else report.warn('STATE_CORRUPT', `${problem.message}; ${count > 0 ? 'its last good copy is used' : lost}`);
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#trouble = storageError(this.file, error);
      throw this.#trouble;
    }
    this.#trouble = undefined;
  }

  /** Throws where the Core could not read it back. */
  async #textOf(value: T): Promise<string> {
    const { stringify } = await import('yaml');
    const text = this.#kind.head + stringify({ format: LIST_FORM, ...value });
    this.#kind.parse(text, this.file);
    return text;
  }
}

/** A copy without this member, or with another value for it. */
export function without<T>(members: Readonly<Record<string, T>>, id: string, instead?: T): Readonly<Record<string, T>> {
  const { [id]: _, ...others } = members;
  return instead === undefined ? others : { ...others, [id]: instead };
}
