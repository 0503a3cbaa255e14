/**
 * One file that the Core writes (`config.yaml` of the device or of an app), with its journal, metadata and last good
 * copy beside it. Writes that wait are made together; one is in memory only after it is durable. Order of a write:
 * journal, YAML, directory. If the Core is killed at any moment, the YAML is whole, and an acknowledged write is in the
 * YAML as well as in the last good copy with its journal.
 */
import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CoreError, type Logger, reasonOf } from '@device-core/plugin-api';
import { readState, replaceFile, setAside, storageError } from '@device-core/plugin-api/durable';
import { ConfigDocument } from './document.ts';
import type { Change, Changes } from './journal.ts';
import { hashOf, type KeyMetadata, type Metadata } from './metadata.ts';
import type { Problems } from './problems.ts';
import { Records } from './records.ts';
import { parseState, restoreState } from './restore-state.ts';
import { SettingsText } from './settings-text.ts';

/** A value as a layer holds it. */
export interface Held {
  readonly value: unknown;
  readonly revision: number;
  readonly setBy?: string;
  readonly setAt?: number;
}

/** Revisions are unique in the whole Core, so that one read from another layer can never pass for this one's. */
export class Revisions {
  #latest = 0;

  next(): number {
    this.#latest += 1;
    return this.#latest;
  }

  seen(revision: number): void {
    this.#latest = Math.max(this.#latest, revision);
  }
}

export interface StateFileOptions {
  readonly revisions: Revisions;
  readonly problems: Problems;
  readonly log: Logger;
  readonly maxKeys: number;
  readonly maxBytes: number;
  /** Why a value that was edited by hand is refused, if it is. */
  readonly refuse: (key: string, value: unknown) => string | undefined;
  /** After a change is durable, and after a hand edit was taken in. */
  readonly onChange: (keys: readonly string[]) => void;
}

/** The file as a change sees it in its turn. */
export interface View {
  get(key: string): Held | undefined;
}

interface Job {
  readonly key: string;
  readonly value: unknown;
  readonly by: string;
  readonly guard: (view: View) => void;
  /** Resolves the caller's promise once the change is in force. */
  readonly done: (revision: number) => void;
  readonly fail: (error: unknown) => void;
}

const MAX_WAITING = 128;
export class StateFile {
  readonly path: string;
  readonly #options: StateFileOptions;
  /** Values in force, by key. */
  #values = new Map<string, unknown>();
  #authors = new Map<string, KeyMetadata>();
  /** Highest revision ever given out in this file, unset keys included. */
  #revision = 0;
  /** The one text of the file in memory; it takes the next changes. */
  #draft = new SettingsText('', '', ConfigDocument.parse('', ''));
  /** Hash of a text of others as it was accepted: in a draft its last line may have got an end. */
  #accepted: string | undefined;
  /** Seal of the file that was written here; undefined after a write by others. */
  #seal: string | undefined;
  /** Hash of a hand edit that was refused and still stands in the file. */
  #refused: string | undefined;
  readonly #records: Records;
  #jobs: Job[] = [];
  #reloads: ((fault: unknown) => void)[] = [];
  #waiting = 0;
  #working: Promise<void> | undefined;

  private constructor(path: string, options: StateFileOptions) {
    this.path = path;
    this.#options = options;
    this.#records = new Records(path, options);
  }

  /** Reads the file; a corrupt one is set aside and the last good one restored. */
  static async open(path: string, options: StateFileOptions): Promise<StateFile> {
    const file = new StateFile(path, options);
    await file.#load();
    return file;
  }

  get(key: string): Held | undefined {
    const author = this.#authors.get(key);
    return author && held(this.#values.get(key), author);
  }

  keys(): Iterable<string> {
    return this.#values.keys();
  }

  /**
   * Sets or (null) unsets one key; durable when it resolves. `guard` runs when its turn has come, after hand edits were
   * taken in, and may throw. Resolves with what `answer` says of the revision as soon as the change is in force. Throws
   * QUEUE_FULL, CONFIG_VALUE_INVALID, STATE_UNWRITABLE, STORAGE_FULL, STORAGE_READ_ONLY, STORAGE_FAILED.
   */
  set<T>(
    key: string,
    value: unknown,
    by: string,
    guard: (view: View) => void,
    answer: (revision: number) => T,
  ): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const done = (revision: number) => resolve(answer(revision));
    return this.#take(promise, () => this.#jobs.push({ key, value, by, guard, done, fail: reject }));
  }

  /** Reads changes by others into memory; own writes are known already. */
  reload(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const settle = (fault: unknown) => (fault === undefined ? resolve() : reject(fault));
    return this.#take(promise, () => this.#reloads.push(settle));
  }

  /** Folds the journal, so that a former version finds everything as well. The disk may refuse: then the next start does it. */
  async close(): Promise<void> {
    await this.#working;
    if (!this.#records.pending || !existsSync(dirname(this.path))) return; // an app that was removed stays so
    await this.#fold().catch((error) => this.#options.log.warn({ file: this.path }, reasonOf(error)));
  }

  async #take<T>(settled: Promise<T>, add: () => void): Promise<T> {
    if (this.#waiting >= MAX_WAITING) {
      const details = { what: `a write to ${this.path}`, reason: `${MAX_WAITING} are waiting`, retryAfterMs: 100 };
      throw new CoreError('QUEUE_FULL', details);
    }
    this.#waiting += 1;
    try {
      add();
      this.#working ??= this.#work();
      return await settled;
    } finally {
      this.#waiting -= 1;
    }
  }

  async #work(): Promise<void> {
    while (this.#jobs.length + this.#reloads.length > 0) {
      const reloads = this.#reloads.splice(0);
      let fault: unknown;
      // A request to reload is believed; otherwise the seal tells whether the file is the one that was written here.
      if (reloads.length > 0 || this.#seal === undefined || this.#seal !== (await sealOf(this.path)))
        await this.#absorb().catch((error) => {
          fault = error;
        });
      for (const settle of reloads) settle(fault);
      const jobs = this.#jobs.splice(0);
      if (fault === undefined) await this.#change(jobs);
      else for (const job of jobs) job.fail(fault);
    }
    this.#working = undefined;
  }

  /** Makes all these changes with one write; one that is refused does not hold up the others. */
  async #change(jobs: readonly Job[]): Promise<void> {
    const changes = new Map<string, Change>();
    const view = (key: string) => {
      const change = changes.get(key);
      return change === undefined ? this.get(key) : change === null ? undefined : held(change.value, change);
    };
    const made: { readonly job: Job; readonly change: Change; readonly revision: number }[] = [];
    for (const job of jobs) {
      const { key, value, by } = job;
      try {
        job.guard({ get: view });
        if (value === null && view(key) === undefined) {
          made.push({ job, change: null, revision: 0 });
          continue;
        }
        this.#draft.set(key, value, this.#options);
        const revision = this.#options.revisions.next();
        const change = value === null ? null : { value, revision, setBy: by, setAt: Date.now(), hash: hashOf(value) };
        changes.set(key, change);
        made.push({ job, change, revision });
      } catch (error) {
        job.fail(error);
      }
    }
    try {
      if (changes.size > 0) await this.#write(changes);
    } catch (error) {
      this.#draft.takeBack();
      for (const { job } of made) job.fail(error);
      return;
    }
    for (const { job, change, revision } of made) {
      try {
        if (revision > 0) {
          this.#put(job.key, change, revision);
          this.#options.onChange([job.key]);
        }
        job.done(revision);
      } catch (error) {
        job.fail(error);
      }
    }
  }

  #put(key: string, change: Change, revision: number): void {
    this.#revision = Math.max(this.#revision, revision);
    if (change === null) {
      this.#values.delete(key);
      this.#authors.delete(key);
    } else {
      const { value, ...author } = change;
      this.#values.set(key, value);
      this.#authors.set(key, author);
    }
  }

  async #load(): Promise<void> {
    const found = await this.#records.open();
    this.#options.revisions.seen(found.revision);
    let text: string;
    let document: ConfigDocument;
    try {
      const read = await readState(this.path);
      text = read ?? '';
      document = parseState(this.path, read);
    } catch (error) {
      text = await restoreState(this.path, error, found.lastGood, this.#options);
      document = ConfigDocument.parse(text, this.path);
    }
    const known = { revision: found.revision, keys: found.authors((key) => document.value(key)) };
    await this.#adopt(text, document, known, this.#records.pending || text !== (found.lastGood ?? ''));
  }

  /** Accepts a text that was written by others: values that the metadata do not know were set by `file`. */
  async #adopt(text: string, document: ConfigDocument, known: Metadata, behind: boolean): Promise<readonly string[]> {
    const authors = new Map<string, KeyMetadata>();
    const values = new Map<string, unknown>();
    const changed = [...known.keys.keys()].filter((key) => document.value(key) === undefined);
    for (const key of document.keys()) {
      const value = document.value(key);
      values.set(key, value);
      const hash = hashOf(value);
      const entry = known.keys.get(key);
      if (entry?.hash === hash) {
        authors.set(key, entry);
        continue;
      }
      authors.set(key, { revision: this.#options.revisions.next(), setBy: 'file', setAt: Date.now(), hash });
      changed.push(key);
    }
    const revision = changed.length > 0 ? this.#options.revisions.next() : known.revision;
    if (changed.length > 0 || behind) {
      await this.#records.fold(text, { revision, keys: authors }).catch((error) => {
        // The values themselves are in the file already; only their history is not kept.
        this.#options.problems.note(reasonOf(error));
        this.#options.log.warn({ file: this.path }, reasonOf(error));
      });
    } else this.#records.follow(revision);
    this.#accepted = hashOf(text);
    this.#draft = new SettingsText(this.path, text, document);
    this.#values = values;
    this.#authors = authors;
    this.#revision = revision;
    return changed;
  }

  async #absorb(): Promise<void> {
    const { problems, log, refuse, onChange } = this.#options;
    let text = '';
    let document: ConfigDocument;
    try {
      const found = await readState(this.path);
      text = found ?? '';
      if (found !== '' && (hashOf(text) === this.#accepted || text === this.#draft.settled())) return this.#mended();
      if (hashOf(text) === this.#refused) return;
      document = parseState(this.path, found);
      for (const key of document.keys()) {
        const value = document.value(key);
        const reason = this.#authors.get(key)?.hash === hashOf(value) ? undefined : refuse(key, value);
        if (reason)
          throw new CoreError('STATE_CORRUPT', { file: this.path, reason: `line ${document.line(key)}: ${reason}` });
      }
    } catch (error) {
      this.#refused = hashOf(text);
      const message = `${reasonOf(error)}; the values from before the edit stay`;
      problems.fault(this.path, 'STATE_CORRUPT', message);
      log.error({ file: this.path }, message);
      return;
    }
    const changed = await this.#adopt(text, document, { revision: this.#revision, keys: this.#authors }, true);
    this.#mended();
    log.info({ file: this.path, keys: changed }, 'took in an edit by hand');
    if (changed.length > 0) onChange(changed);
  }

  #fold(): Promise<void> {
    return this.#records.fold(this.#draft.settled(), { revision: this.#revision, keys: this.#authors });
  }

  #mended(): void {
    this.#refused = undefined;
    this.#options.problems.mended(this.path);
  }

  /**
   * Writes the changes and accepts them. The YAML may be the new one, too, after a failed sync of its folder: then it
   * is taken in as an edit.
   */
  async #write(changes: Changes): Promise<void> {
    if (this.#records.due) await this.#fold();
    const text = this.#draft.toString();
    try {
      if (this.#refused !== undefined) {
        const aside = await setAside(this.path, true);
        this.#options.problems.note(`a refused edit of ${this.path} was set aside as ${aside} by a later write`);
        this.#mended();
      }
      await this.#records.append(changes).catch(async (error: CoreError) => {
        if ((error.cause as NodeJS.ErrnoException | undefined)?.code !== 'ENOENT') throw error;
        await this.#fold(); // makes the folder: that of an app comes with its first setting
        await this.#records.append(changes);
      });
      this.#seal = undefined;
      await replaceFile(this.path, text);
      this.#records.settle();
      this.#seal = await sealOf(this.path, Buffer.byteLength(text));
    } catch (error) {
      throw storageError(this.path, error);
    }
    this.#accepted = undefined;
    this.#draft.settle();
  }
}

/** Seal of a file: its inode, size and times change with each write by others. Undefined if there is no file. */
async function sealOf(path: string, bytes?: number): Promise<string | undefined> {
  try {
    const { ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    if (bytes !== undefined && size !== BigInt(bytes)) return undefined; // another writer was quicker
    return `${ino} ${size} ${mtimeNs} ${ctimeNs}`;
  } catch {
    return undefined; // the next read reports the reason
  }
}

function held(value: unknown, { revision, setBy, setAt }: KeyMetadata): Held {
  return { value, revision, setBy, setAt };
}
