/** Records beside the YAML that people read and edit: its last good copy, the authors of values, and the journal of changes since. */
import { dirname, join } from 'node:path';
import { CoreError, type Logger, reasonOf } from '@device-core/plugin-api';
import { makeFolder, readState, replaceFile, storageError, sweepLeftovers } from '@device-core/plugin-api/durable';
import { ConfigDocument } from './document.ts';
import { type Changes, type Found, Journal } from './journal.ts';
import { formatMetadata, hashOf, type KeyMetadata, type Metadata, NO_METADATA, parseMetadata } from './metadata.ts';
import type { Problems } from './problems.ts';
import { SettingsText } from './settings-text.ts';

const METADATA = 'config.meta.json';
const JOURNAL = 'config.journal';
/** Written beside those of a newer form, which are left alone: the newer Core finds its own again. */
const METADATA_BESIDE = 'config.meta.1.json';
const JOURNAL_BESIDE = 'config.1.journal';
const NO_LIMITS = { maxKeys: Number.POSITIVE_INFINITY, maxBytes: Number.POSITIVE_INFINITY };

type Values = (key: string) => unknown;

export interface Opened {
  /** Highest revision that was given out. */
  readonly revision: number;
  /** The text that was acknowledged last; undefined where it is not known. */
  readonly lastGood: string | undefined;
  /** Authors of values, for the values of the YAML. */
  readonly authors: (values: Values) => ReadonlyMap<string, KeyMetadata>;
}

export class Records {
  readonly #path: string;
  readonly #problems: Problems;
  readonly #log: Logger;
  #metadataName: string = METADATA;
  #journal: Journal;
  /** Revision of the metadata that the journal follows. */
  #base = 0;
  /** The journal says more than was done, or is damaged: the others have to be written before it goes on. */
  #behind = false;

  constructor(path: string, { problems, log }: { readonly problems: Problems; readonly log: Logger }) {
    this.#path = path;
    this.#problems = problems;
    this.#log = log;
    this.#journal = new Journal(this.#beside(JOURNAL));
  }

  /** Copy and metadata alone do not say everything. */
  get pending(): boolean {
    return this.#behind || this.#journal.used;
  }

  /** fold() comes before the next append(). */
  get due(): boolean {
    return this.#behind || this.#journal.full;
  }

  async open(): Promise<Opened> {
    await this.#sweep();
    const known = await this.#readMetadata();
    const metadata = known?.metadata ?? NO_METADATA;
    const { writes, damage, of = metadata.revision } = await this.#readJournal(known?.metadata.revision);
    this.#behind = damage !== undefined;
    let revision = metadata.revision;
    for (const write of writes)
      for (const change of write.values()) revision = Math.max(revision, change?.revision ?? 0);
    const copy = await this.#lastGood();
    return {
      revision,
      // Without the copy that it follows a journal is not the whole.
      lastGood: copy === undefined && of > 0 ? undefined : withWrites(copy, writes),
      authors: (values) => followed(known?.undo ? undone(metadata, known.undo, values) : metadata, writes, values),
    };
  }

  /** Copy and metadata say everything, and the metadata have this revision. */
  follow(revision: number): void {
    this.#base = revision;
  }

  /** To be called before the YAML is replaced; durable when it resolves. settle() follows when the YAML is there, or fold() is due. */
  async append(changes: Changes): Promise<void> {
    await this.#journal.append(changes, this.#base);
    this.#behind = true;
  }

  settle(): void {
    this.#behind = false;
  }

  /** Brings last good copy and metadata up to date, the copy first: the journal may be read over a newer copy, not over an older one. */
  async fold(text: string, metadata: Metadata): Promise<void> {
    this.#behind = true;
    try {
      await makeFolder(dirname(this.#path));
      await replaceFile(this.#beside(this.#metadataName), formatMetadata(metadata), {
        beside: { [`${this.#path}.last-good`]: text },
      });
      await this.#journal.drop();
    } catch (error) {
      throw storageError(this.#path, error);
    }
    this.#base = metadata.revision;
    this.#behind = false;
  }

  /** Removes leftovers of killed writers; a failure does no harm. */
  async #sweep(): Promise<void> {
    const names = [METADATA, METADATA_BESIDE, JOURNAL, JOURNAL_BESIDE];
    const files = [this.#path, ...names.map((name) => this.#beside(name))];
    const outcomes = await Promise.allSettled(files.map((file) => sweepLeftovers(file)));
    for (const outcome of outcomes)
      if (outcome.status === 'rejected')
        this.#log.warn({ file: this.#path }, `cannot remove what was left behind: ${outcome.reason.message}`);
  }

  async #readMetadata(): Promise<ReturnType<typeof parseMetadata>> {
    try {
      return parseMetadata(await this.#history(METADATA), this.#beside(METADATA));
    } catch (error) {
      if (!(error instanceof CoreError) || error.code !== 'STATE_NEWER') throw error;
      this.#metadataName = METADATA_BESIDE;
      this.#journal = new Journal(this.#beside(JOURNAL_BESIDE));
      this.#problems.newer(`${error.message}; who set what is kept in ${METADATA_BESIDE} meanwhile`);
      return parseMetadata(await this.#history(METADATA_BESIDE), this.#beside(METADATA_BESIDE));
    }
  }

  async #readJournal(of: number | undefined): Promise<Found> {
    try {
      const found = await this.#journal.read(of);
      if (found.damage !== undefined) this.#problems.note(`${found.damage}; who set what is not known any more`);
      return found;
    } catch (error) {
      if (error instanceof CoreError && error.code === 'STATE_NEWER') {
        this.#problems.newer(`${error.message}; changes are kept in ${JOURNAL_BESIDE} meanwhile`);
        this.#journal = new Journal(this.#beside(JOURNAL_BESIDE));
        return this.#journal.read(of).catch(() => ({ writes: [] })); // no older one is newer
      }
      this.#problems.note(`${reasonOf(error)}; who set what is not known any more`);
      return { writes: [], damage: reasonOf(error) };
    }
  }

  /** Metadata that cannot be read are as good as damaged ones: they cost no value. */
  async #history(name: string): Promise<string> {
    try {
      return (await readState(this.#beside(name))) ?? '';
    } catch (error) {
      this.#problems.note(`${reasonOf(error)}; who set what is not known any more`);
      return '';
    }
  }

  /** The last good text, or undefined where there is none that can be read. */
  async #lastGood(): Promise<string | undefined> {
    try {
      const text = await readState(`${this.#path}.last-good`);
      if (text === undefined) return undefined;
      ConfigDocument.parse(text, this.#path);
      return text;
    } catch (error) {
      this.#log.error({ file: this.#path }, `the last good copy is damaged: ${reasonOf(error)}`);
      return undefined;
    }
  }

  #beside(name: string): string {
    return join(dirname(this.#path), name);
  }
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
function followed(known: Metadata, writes: readonly Changes[], values: Values): ReadonlyMap<string, KeyMetadata> {
  const keys = new Map(known.keys);
  for (const [index, write] of writes.entries())
    for (const [key, change] of write) {
      const value = values(key);
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
  values: Values,
): Metadata {
  const value = values(undo.key);
  if (value === undefined || undo.entry === null) return metadata;
  const hash = hashOf(value);
  if (undo.entry.hash !== hash || metadata.keys.get(undo.key)?.hash === hash) return metadata;
  return { ...metadata, keys: new Map(metadata.keys).set(undo.key, undo.entry) };
}
