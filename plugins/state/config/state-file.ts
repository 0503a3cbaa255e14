/**
 * One file that the Core writes (`config.yaml` of the device or of an app), with `config.meta.json` and `config.yaml.last-good` beside it.
 * Work on the file is serialised; a write is in memory only after it is durable. Order of a write: last good and metadata, YAML, directory.
 * Whatever moment the Core is killed at, the YAML is whole, and an acknowledged write is in both the YAML and the last good copy.
 */
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
import { isBelow } from './keys.ts';
import { formatMetadata, hashOf, type KeyMetadata, type Metadata, NO_METADATA, parseMetadata } from './metadata.ts';
import type { Problems } from './problems.ts';

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

const MAX_WAITING = 128;
const METADATA = 'config.meta.json';
/** Written beside metadata of a newer form, which are left alone: the newer Core finds its own again. */
const METADATA_BESIDE = 'config.meta.1.json';

export class StateFile {
  readonly path: string;
  readonly #options: StateFileOptions;
  #document = ConfigDocument.parse('', '');
  /** Says the same as the document and takes the next change, so that readers never see one that is not durable yet. */
  #draft: ConfigDocument | undefined;
  /** What the file holds as far as it was accepted; '' also stands for no file. */
  #text = '';
  /** A hand edit that was refused and still stands in the file. */
  #refused: string | undefined;
  #metadata: Metadata = NO_METADATA;
  #metadataName: string = METADATA;
  #tail: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  private constructor(path: string, options: StateFileOptions) {
    this.path = path;
    this.#options = options;
  }

  /** Reads the file; a corrupt one is set aside and the last good one restored. */
  static async open(path: string, options: StateFileOptions): Promise<StateFile> {
    const file = new StateFile(path, options);
    await file.#load();
    return file;
  }

  get(key: string): Held | undefined {
    const value = this.#document.value(key);
    if (value === undefined) return undefined;
    const { revision, setBy, setAt } = this.#metadata.keys.get(key)!;
    return { value, revision, setBy, setAt };
  }

  keys(): Iterable<string> {
    return this.#document.keys();
  }

  /**
   * Sets or (null) unsets one key; durable when it resolves. `guard` runs when the file's turn has come, after hand edits were taken in, and
   * may throw. Resolves with the revision of the change. Throws QUEUE_FULL, CONFIG_VALUE_INVALID, STATE_UNWRITABLE, STORAGE_FULL,
   * STORAGE_READ_ONLY, STORAGE_FAILED.
   */
  set(key: string, value: unknown, by: string, guard: () => void): Promise<number> {
    return this.#serial(async () => {
      await this.#absorb();
      guard();
      const former = this.#document.value(key);
      if (value === null && former === undefined) return 0;
      if (value !== null) this.#checkPlace(key, former === undefined);
      const draft = this.#draft ?? ConfigDocument.parse(this.#text, this.path);
      this.#draft = undefined;
      const { text, document } = this.#render(draft, key, value);
      const revision = this.#options.revisions.next();
      const keys = new Map(this.#metadata.keys);
      if (value === null) keys.delete(key);
      else keys.set(key, { revision, setBy: by, setAt: Date.now(), hash: hashOf(value) });
      const metadata = { revision, keys };
      await this.#persist(text, formatMetadata(metadata, { key, entry: this.#metadata.keys.get(key) }));
      this.#accept(text, document, metadata);
      this.#draft = draft;
      this.#options.onChange([key]);
      return revision;
    });
  }

  /** Takes in what somebody else wrote into the file; its own writes are no news. */
  reload(): Promise<void> {
    return this.#serial(() => this.#absorb());
  }

  #serial<T>(work: () => Promise<T>): Promise<T> {
    if (this.#waiting >= MAX_WAITING) {
      const details = { what: `a write to ${this.path}`, reason: `${MAX_WAITING} are waiting`, retryAfterMs: 100 };
      return Promise.reject(new CoreError('QUEUE_FULL', details));
    }
    this.#waiting += 1;
    const run = this.#tail.then(work).finally(() => {
      this.#waiting -= 1;
    });
    this.#tail = run.catch(() => undefined);
    return run;
  }

  async #load(): Promise<void> {
    await this.#sweep();
    const known = await this.#readMetadata();
    const metadata = known?.metadata ?? NO_METADATA;
    this.#options.revisions.seen(metadata.revision);
    let text: string;
    let document: ConfigDocument;
    try {
      const found = await readState(this.path);
      text = found ?? '';
      document = this.#parse(found);
    } catch (error) {
      text = await this.#recover(error);
      document = ConfigDocument.parse(text, this.path);
    }
    await this.#adopt(text, document, known?.undo ? undone(metadata, known.undo, document) : metadata);
  }

  /** What writers that were killed left behind: it does no harm where it cannot be removed. */
  async #sweep(): Promise<void> {
    const files = [this.path, this.#beside(METADATA), this.#beside(METADATA_BESIDE)];
    const outcomes = await Promise.allSettled(files.map((file) => sweepLeftovers(file)));
    for (const outcome of outcomes)
      if (outcome.status === 'rejected')
        this.#options.log.warn({ file: this.path }, `cannot remove what was left behind: ${outcome.reason.message}`);
  }

  /** Puts the last good text in the place of a damaged file, as far as the disk allows. Resolves with what is in force. */
  async #recover(damage: unknown): Promise<string> {
    const { problems, log } = this.#options;
    const text = (await this.#lastGood()) || undefined; // an empty one is none
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
      this.#options.problems.newer(`${error.message}; who set what is kept in ${METADATA_BESIDE} meanwhile`);
      return parseMetadata(await this.#history(METADATA_BESIDE), this.#beside(METADATA_BESIDE));
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
  async #adopt(text: string, document: ConfigDocument, known: Metadata): Promise<readonly string[]> {
    const keys = new Map<string, KeyMetadata>();
    const changed = [...known.keys.keys()].filter((key) => document.value(key) === undefined);
    for (const key of document.keys()) {
      const hash = hashOf(document.value(key));
      const entry = known.keys.get(key);
      if (entry?.hash === hash) {
        keys.set(key, entry);
        continue;
      }
      keys.set(key, { revision: this.#options.revisions.next(), setBy: 'file', setAt: Date.now(), hash });
      changed.push(key);
    }
    const revision = changed.length > 0 ? this.#options.revisions.next() : known.revision;
    const metadata = { revision, keys };
    if (changed.length > 0 || text !== ((await this.#lastGood()) ?? '')) {
      try {
        await this.#persist(text, formatMetadata(metadata), false);
      } catch (error) {
        // The values themselves are in the file already; only their history is not kept.
        this.#options.problems.note(reasonOf(error));
        this.#options.log.warn({ file: this.path }, reasonOf(error));
      }
    }
    this.#accept(text, document, metadata);
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
        const reason = this.#metadata.keys.get(key)?.hash === hashOf(value) ? undefined : refuse(key, value);
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
    const changed = await this.#adopt(text, document, this.#metadata);
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

  #accept(text: string, document: ConfigDocument, metadata: Metadata): void {
    this.#draft = undefined;
    this.#text = text;
    this.#document = document;
    this.#metadata = metadata;
  }

  /** Throws CONFIG_VALUE_INVALID where the key cannot stand beside the others. */
  #checkPlace(key: string, isNew: boolean): void {
    let count = 0;
    for (const other of this.#document.keys()) {
      count += 1;
      if (other === key || !(isBelow(other, key) || isBelow(key, other))) continue;
      const reason = `${other} is set in the same scope, and a key is a value or the beginning of other keys, never both`;
      throw new CoreError('CONFIG_VALUE_INVALID', { key, reason });
    }
    if (isNew && count >= this.#options.maxKeys) {
      throw new CoreError('CONFIG_VALUE_INVALID', {
        key,
        reason: `its scope holds ${count} keys already, the most allowed`,
      });
    }
  }

  /** The file's text with one key changed, read back to be sure that it says what is meant. */
  #render(
    draft: ConfigDocument,
    key: string,
    value: unknown,
  ): { readonly text: string; readonly document: ConfigDocument } {
    if (value === null) draft.delete(key);
    else draft.set(key, value);
    const text = draft.toString();
    const bytes = Buffer.byteLength(text);
    if (bytes > this.#options.maxBytes) {
      const reason = `its scope would have ${bytes} bytes, at most ${this.#options.maxBytes} are allowed`;
      throw new CoreError('CONFIG_VALUE_INVALID', { key, reason });
    }
    const document = ConfigDocument.parse(text, this.path);
    if (JSON.stringify(document.value(key) ?? null) !== JSON.stringify(value)) {
      throw new CoreError('CONFIG_VALUE_INVALID', { key, reason: 'it cannot be written as YAML without loss' });
    }
    return { text, document };
  }

  async #persist(text: string, metadata: string, withYaml = true): Promise<void> {
    try {
      await makeFolder(dirname(this.path));
      if (withYaml && this.#refused !== undefined) {
        const aside = await setAside(this.path);
        this.#options.problems.note(`a refused edit of ${this.path} was set aside as ${aside} by a later write`);
        this.#mended();
      }
      const metadataFile = this.#beside(this.#metadataName);
      if (withYaml) await replaceFile(this.path, text, { lastGood: true, beside: { [metadataFile]: metadata } });
      else await replaceFile(`${this.path}.last-good`, text, { beside: { [metadataFile]: metadata } });
    } catch (error) {
      throw storageError(this.path, error);
    }
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
