/** File of a vault and its last good copy: read, repaired, replaced whole. A file that cannot be opened is never written over. */
import { chmod, lstat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type CoreError, isNewer, type Logger, reasonOf } from '@device-core/plugin-api';
import {
  makeFolder,
  readState,
  recoverFile,
  replaceFile,
  storageError,
  sweepLeftovers,
} from '@device-core/plugin-api/durable';
import { parseVault, type VaultDocument } from './document.ts';
import { VaultKey } from './seal.ts';

export interface Opened {
  readonly key: VaultKey;
  readonly document: VaultDocument;
}

/** Findings at a path: a usable vault, none, or the reason why it cannot be used. */
export type Found =
  | { readonly is: 'good'; readonly opened: Opened; readonly text: string }
  | { readonly is: 'absent' }
  | { readonly is: 'newer' | 'damaged' | 'other key' | 'refused'; readonly reason: string };

export class VaultFile {
  readonly path: string;
  /** Findings and repairs of this run, by subject. */
  readonly notes = new Map<string, string>();
  readonly #log: Logger;
  readonly #seen: (document: VaultDocument) => void;
  #trouble: CoreError | undefined;

  /** `seen` gets each document that can be read, with or without its key. */
  constructor(folder: string, log: Logger, seen: (document: VaultDocument) => void) {
    this.path = join(folder, 'vault.json');
    this.#log = log;
    this.#seen = seen;
  }

  /** Error of the last write; undefined after one that succeeded. */
  get trouble(): CoreError | undefined {
    return this.#trouble;
  }

  /** Others must not look into the folder; what a crash left goes. */
  async tidy(): Promise<void> {
    const folder = dirname(this.path);
    const info = await lstat(folder).catch(() => undefined); // not there yet
    if (!info) return;
    if (info.isDirectory() && (info.mode & 0o077) !== 0) {
      await chmod(folder, 0o700).catch((error) => this.note('folder', `others may read ${folder}: ${reasonOf(error)}`));
    }
    await sweepLeftovers(this.path).catch(() => undefined); // a disk that is read-only keeps it
  }

  async find(path: string, master: Uint8Array | undefined): Promise<Found> {
    const refused = await this.#refusal(path);
    if (refused !== undefined) return { is: 'refused', reason: refused };
    let document: VaultDocument;
    let text: string | undefined;
    try {
      text = await readState(path);
      if (text === undefined) return { is: 'absent' };
      document = parseVault(text, path);
    } catch (error) {
      return { is: isNewer(error) ? 'newer' : 'damaged', reason: reasonOf(error) };
    }
    // Records can be listed without the key.
    this.#seen(document);
    if (master === undefined) return { is: 'other key', reason: 'there is no key' };
    const key = VaultKey.of(master, document);
    if (key instanceof VaultKey) return { is: 'good', opened: { key, document }, text };
    return { is: key, reason: key === 'damaged' ? 'the check value of its key is damaged' : 'another key is needed' };
  }

  async #refusal(path: string): Promise<string | undefined> {
    const info = await lstat(path).catch(() => undefined);
    if (!info) return undefined;
    const own = process.getuid?.() ?? info.uid;
    if (info.isSymbolicLink()) return `${path} is a link: put the file itself there`;
    if (!info.isFile()) return undefined; // the reader reports it
    if (info.uid !== own) return `${path} belongs to user ${info.uid}, not to the Core: chown ${own} ${path}`;
    if ((info.mode & 0o077) !== 0) {
      await chmod(path, 0o600).then(
        () => this.#log.warn({ file: path }, 'others could read the vault: they cannot any more'),
        (error) => this.note('mode', `others may read ${path}: chmod 600 ${path} (${reasonOf(error)})`),
      );
    }
    return undefined;
  }

  /** Puts the text of the last good copy in the place of a file that cannot be used. */
  async recover(found: Found, text: string): Promise<void> {
    const why = 'reason' in found ? found.reason : 'it is gone';
    let aside = '';
    try {
      if (found.is === 'absent') await replaceFile(this.path, text, { lastGood: true });
      else aside = ` it was set aside as ${await recoverFile(this.path, text)};`;
    } catch (error) {
      this.#trouble = storageError(this.path, error); // it is used all the same
    }
    this.note('vault', `${this.path}: ${why};${aside} its last good copy is used`);
  }

  /** Records of the last good copy, where it has this salt. */
  async lastGood(salt: string | undefined): Promise<VaultDocument['records']> {
    const path = `${this.path}.last-good`;
    try {
      const document = parseVault((await readState(path)) ?? '', path);
      return document.salt === salt ? document.records : new Map();
    } catch {
      return new Map(); // as good as none
    }
  }

  /** Makes the folder, too. */
  async makeFolder(): Promise<void> {
    await makeFolder(dirname(this.path)).catch((error) => this.#fail(error));
  }

  /** Throws STATE_UNWRITABLE, STORAGE_FULL, STORAGE_READ_ONLY, STORAGE_FAILED, and keeps it as `trouble`. */
  async replace(text: string, lastGood: boolean): Promise<void> {
    await replaceFile(this.path, text, { mode: 0o600, lastGood }).catch((error) => this.#fail(error));
    this.#trouble = undefined;
  }

  #fail(error: unknown): never {
    this.#trouble = storageError(this.path, error);
    throw this.#trouble;
  }

  note(about: string, message: string): void {
    if (!this.notes.has(about)) this.#log.error({ file: this.path }, message);
    this.notes.set(about, message);
  }
}
