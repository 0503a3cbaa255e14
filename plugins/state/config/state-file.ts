/**
 * One file that the Core writes (`config.yaml` of the device or of an app), with its journal, metadata and last good copy beside it. Writes that wait
 * are made together; one is in memory only after it is durable. Order of a write: journal, YAML, directory. Whatever moment the Core is killed at, the
 * YAML is whole, and an acknowledged write is in the YAML as well as in the last good copy with its journal.
 */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CoreError, type Logger, reasonOf } from '@device-core/plugin-api';
import {
  makeFolder,
  readState,
  recoverFile,
  replaceFile,
  setAside,
  storageError,
  sweepLeftovers,
} from '@device-core/plugin-api/durable';
import { ConfigDocument } from './document.ts';
import { type Change, type Changes, type Found, Journal } from './journal.ts';
import { formatMetadata, hashOf, type KeyMetadata, type Metadata, NO_METADATA, parseMetadata } from './metadata.ts';
import type { Problems } from './problems.ts';
import { SettingsText } from './settings-text.ts';

/** A value as a layer holds it. */
export interface Held {
  readonly value: unknown;
  readonly revision: number;
  readonly setBy?: string;
  readonly setAt?: number;
}

/** Revisions are unique in the whole Core, so that one read from another layer can never pass for this one's. */
export interface Revisions {
  next(): number;
  seen(revision: number): void;
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

/** What a change sees of the file when its turn has come. */
export interface View {
  get(key: string): Held | undefined;
}

interface Job {
  readonly key: string;
  readonly value: unknown;
  readonly by: string;
  readonly guard: (view: View) => void;
  /** It is in force: resolves whoever waits. */
  readonly done: (revision: number) => void;
  readonly fail: (error: unknown) => void;
}

const MAX_WAITING = 128;
const METADATA = 'config.meta.json';
const JOURNAL = 'config.journal';
/** Written beside those of a newer form, which are left alone: the newer Core finds its own again. */
const METADATA_BESIDE = 'config.meta.1.json';
const JOURNAL_BESIDE = 'config.1.journal';
const NO_LIMITS = { maxKeys: Number.POSITIVE_INFINITY, maxBytes: Number.POSITIVE_INFINITY };

export class StateFile {
  readonly path: string;
  readonly #options: StateFileOptions;
  /** What is in force, by key. */
  #values = new Map<string, unknown>();
  #authors = new Map<string, KeyMetadata>();
  /** Highest revision ever given out in this file, unset keys included. */
  #revision = 0;
  /** What the file holds as far as it was accepted; '' also stands for no file. */
  #text = '';
  /** Says the same as `#text`, and takes the next changes. */
  #draft = new SettingsText('', '', ConfigDocument.parse('', ''));
  /** A hand edit that was refused and still stands in the file. */
  #refused: string | undefined;
  #metadataName: string = METADATA;
  #journal: Journal;
  /** Of the metadata that the journal follows. */
  #base = 0;
  /** The journal says more than was done, or metadata and last good copy are behind: they come first. */
  #behind = false;
  #jobs: Job[] = [];
  #reloads: ((fault: unknown) => void)[] = [];
  #waiting = 0;
  #working: Promise<void> | undefined;

  private constructor(path: string, options: StateFileOptions) {
    this.path = path;
    this.#options = options;
    this.#journal = new Journal(this.#beside(JOURNAL));
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
   * Sets or (null) unsets one key; durable when it resolves. `guard` runs when its turn has come, after hand edits were taken in, and may throw.
   * Resolves with what `answer` says of the revision as soon as the change is in force. Throws QUEUE_FULL, CONFIG_VALUE_INVALID, STATE_UNWRITABLE,
   * STORAGE_FULL, STORAGE_READ_ONLY, STORAGE_FAILED.
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

  /** Takes in what somebody else wrote into the file; its own writes are no news. */
  reload(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const settle = (fault: unknown) => (fault === undefined ? resolve() : reject(fault));
    return this.#take(promise, () => this.#reloads.push(settle));
  }

  /** Folds the journal, so that a former version finds everything as well. The disk may refuse: then the next start does it. */
  async close(): Promise<void> {
    await this.#working;
    if (!this.#journal.used || !existsSync(dirname(this.path))) return; // an app that was removed stays so
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
    await this.#sweep();
    const known = await this.#readMetadata();
    const metadata = known?.metadata ?? NO_METADATA;
    const { writes, damage } = await this.#readJournal(known?.metadata.revision);
    let highest = metadata.revision;
    for (const write of writes) for (const change of write.values()) highest = Math.max(highest, change?.revision ?? 0);
    this.#options.revisions.seen(highest);
    const copy = await this.#lastGood();
    // Without the copy that it follows a journal is not the whole.
    const lastGood = copy === undefined && metadata.revision > 0 ? undefined : withWrites(copy, writes);
    let text: string;
    let document: ConfigDocument;
    try {
      const found = await readState(this.path);
      text = found ?? '';
      document = this.#parse(found);
    } catch (error) {
      text = await this.#recover(error, lastGood);
      document = ConfigDocument.parse(text, this.path);
    }
    const former = known?.undo ? undone(metadata, known.undo, document) : metadata;
    const keys = followed(former.keys, writes, document);
    const behind = this.#journal.used || damage !== undefined || text !== (lastGood ?? '');
    await this.#adopt(text, document, { revision: highest, keys }, behind);
  }

  /** What writers that were killed left behind: it does no harm where it cannot be removed. */
  async #sweep(): Promise<void> {
    const names = [METADATA, METADATA_BESIDE, JOURNAL, JOURNAL_BESIDE];
    const files = [this.path, ...names.map((name) => this.#beside(name))];
    const outcomes = await Promise.allSettled(files.map((file) => sweepLeftovers(file)));
    for (const outcome of outcomes)
      if (outcome.status === 'rejected')
        this.#options.log.warn({ file: this.path }, `cannot remove what was left behind: ${outcome.reason.message}`);
  }

  /** Puts the last good text in the place of a damaged file, as far as the disk allows. Resolves with what is in force. */
  async #recover(damage: unknown, lastGood: string | undefined): Promise<string> {
    const { problems, log } = this.#options;
    const text = lastGood || undefined; // an empty one is none
    let aside = '';
    try {
      aside = `it was set aside as ${await recoverFile(this.path, text)}, `;
    } catch (error) {
      aside = `it cannot be set aside (${reasonOf(error)}), `;
    }
    const outcome =
      text === undefined ? 'there was no last good one: its settings are lost' : 'the last good one is used';
    const message = `${reasonOf(damage)}; ${aside}${outcome}`;
    // Not under the path itself: later writes mend the file, and the loss is to be told until the Core starts anew.
    if (text === undefined) problems.fault(`loss of ${this.path}`, 'STATE_CORRUPT', message);
    else problems.note(message);
    log.error({ file: this.path }, message);
    return text ?? '';
  }

  async #readMetadata(): Promise<ReturnType<typeof parseMetadata>> {
    try {
      return parseMetadata(await this.#history(METADATA), this.#beside(METADATA));
    } catch (error) {
      if (!(error instanceof CoreError) || error.code !== 'STATE_NEWER') throw error;
      this.#metadataName = METADATA_BESIDE;
      this.#journal = new Journal(this.#beside(JOURNAL_BESIDE));
      this.#options.problems.newer(`${error.message}; who set what is kept in ${METADATA_BESIDE} meanwhile`);
      return parseMetadata(await this.#history(METADATA_BESIDE), this.#beside(METADATA_BESIDE));
    }
  }

  async #readJournal(of: number | undefined): Promise<Found> {
    const { problems } = this.#options;
    try {
      const found = await this.#journal.read(of);
      if (found.damage !== undefined) problems.note(`${found.damage}; who set what is not known any more`);
      return found;
    } catch (error) {
      if (error instanceof CoreError && error.code === 'STATE_NEWER') {
        problems.newer(`${error.message}; changes are kept in ${JOURNAL_BESIDE} meanwhile`);
        this.#journal = new Journal(this.#beside(JOURNAL_BESIDE));
        return this.#journal.read(of).catch(() => ({ writes: [] })); // no older one is newer
      }
      problems.note(`${reasonOf(error)}; who set what is not known any more`);
      return { writes: [], damage: reasonOf(error) };
    }
  }

  /** Metadata that cannot be read are as good as damaged ones: they cost no value. */
  async #history(name: string): Promise<string> {
    try {
      return (await readState(this.#beside(name))) ?? '';
    } catch (error) {
      this.#options.problems.note(`${reasonOf(error)}; who set what is not known any more`);
      return '';
    }
  }

  /** Makes a text that somebody else wrote the accepted one: values that the metadata do not know were set by `file`. */
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
      await this.#fold(text, { revision, keys: authors }).catch((error) => {
        // The values themselves are in the file already; only their history is not kept.
        this.#options.problems.note(reasonOf(error));
        this.#options.log.warn({ file: this.path }, reasonOf(error));
      });
    } else this.#base = revision;
    this.#text = text;
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
      if (found !== '' && text === this.#text) return this.#mended();
      if (text === this.#refused) return;
      document = this.#parse(found);
      for (const key of document.keys()) {
        const value = document.value(key);
        const reason = this.#authors.get(key)?.hash === hashOf(value) ? undefined : refuse(key, value);
        if (reason)
          throw new CoreError('STATE_CORRUPT', { file: this.path, reason: `line ${document.line(key)}: ${reason}` });
      }
    } catch (error) {
      this.#refused = text;
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

  /** A file of no bytes is what a crash leaves behind: nobody's wish to unset everything. */
  #parse(found: string | undefined): ConfigDocument {
    if (found !== '') return ConfigDocument.parse(found ?? '', this.path);
    const reason = 'line 1: the file is empty; delete it to unset everything';
    throw new CoreError('STATE_CORRUPT', { file: this.path, reason });
  }

  #mended(): void {
    this.#refused = undefined;
    this.#options.problems.mended(this.path);
  }

  /** Writes the changes and accepts them. The YAML may be the new one, too, after a failed sync of its folder: then it is taken in as an edit. */
  async #write(changes: Changes): Promise<void> {
    if (this.#behind || this.#journal.full) await this.#fold();
    const text = this.#draft.toString();
    try {
      if (this.#refused !== undefined) {
        const aside = await setAside(this.path, true);
        this.#options.problems.note(`a refused edit of ${this.path} was set aside as ${aside} by a later write`);
        this.#mended();
      }
      await this.#journal.append(changes, this.#base).catch(async (error: CoreError) => {
        if ((error.cause as NodeJS.ErrnoException | undefined)?.code !== 'ENOENT') throw error;
        await this.#fold(); // makes the folder: that of an app comes with its first setting
        await this.#journal.append(changes, this.#base);
      });
      this.#behind = true;
      await replaceFile(this.path, text);
      this.#behind = false;
    } catch (error) {
      throw storageError(this.path, error);
    }
    this.#text = text;
    this.#draft.settle();
  }

  /** Brings last good copy and metadata up to date, the copy first: the journal may be read over a newer copy, not over an older one. */
  async #fold(text = this.#text, metadata: Metadata = { revision: this.#revision, keys: this.#authors }): Promise<void> {
    this.#behind = true;
    try {
      await makeFolder(dirname(this.path));
      await replaceFile(this.#beside(this.#metadataName), formatMetadata(metadata), {
        beside: { [`${this.path}.last-good`]: text },
      });
      await this.#journal.drop();
    } catch (error) {
      throw storageError(this.path, error);
    }
    this.#base = metadata.revision;
    this.#behind = false;
  }

  /** The last good text, or undefined where there is none that can be read. */
  async #lastGood(): Promise<string | undefined> {
    try {
      const text = await readState(`${this.path}.last-good`);
      if (text === undefined) return undefined;
      ConfigDocument.parse(text, this.path);
      return text;
    } catch (error) {
      this.#options.log.error({ file: this.path }, `the last good copy is damaged: ${reasonOf(error)}`);
      return undefined;
    }
  }

  #beside(name: string): string {
    return join(dirname(this.path), name);
  }
}

function held(value: unknown, { revision, setBy, setAt }: KeyMetadata): Held {
  return { value, revision, setBy, setAt };
}

/** The last good text with what was written since. */
function withWrites(lastGood: string | undefined, writes: readonly Changes[]): string | undefined {
  if (writes.length === 0) return lastGood;
  const text = new SettingsText('', lastGood ?? '', ConfigDocument.parse(lastGood ?? '', ''));
  for (const write of writes)
    for (const [key, change] of write) {
      try {
        text.set(key, change?.value ?? null, NO_LIMITS);
      } catch {
        // The copy is of others; what fits it is used.
      }
    }
  return text.toString();
}

/** The metadata after these writes. The last of them may have been killed before its YAML was there: then they are those before it. */
function followed(
  known: Metadata['keys'],
  writes: readonly Changes[],
  document: ConfigDocument,
): ReadonlyMap<string, KeyMetadata> {
  const keys = new Map(known);
  for (const [index, write] of writes.entries())
    for (const [key, change] of write) {
      const value = document.value(key);
      const done = change === null ? value === undefined : value !== undefined && change.hash === hashOf(value);
      if (index === writes.length - 1 && !done) continue;
      if (change === null) keys.delete(key);
      else {
        const { revision, setBy, setAt, hash } = change;
        keys.set(key, { revision, setBy, setAt, hash });
      }
    }
  return keys;
}

/** The metadata as they were before a write whose YAML was never written. */
function undone(
  metadata: Metadata,
  undo: { readonly key: string; readonly entry: KeyMetadata | null },
  document: ConfigDocument,
): Metadata {
  const value = document.value(undo.key);
  if (value === undefined || undo.entry === null) return metadata;
  const hash = hashOf(value);
  if (undo.entry.hash !== hash || metadata.keys.get(undo.key)?.hash === hash) return metadata;
  return { ...metadata, keys: new Map(metadata.keys).set(undo.key, undo.entry) };
}
