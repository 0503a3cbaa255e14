/** A vault in one file, replaced whole, with a last good copy. What cannot be opened is never written over. */
import { hash } from 'node:crypto';
import { CoreError, type Logger, reasonOf, type Scope } from '@device-core/plugin-api';
import type { MovedSecret } from '@device-core/plugin-api/inside/services/secret-transfer';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { commandFor, partsOf, type SecretKey } from '../names.ts';
import type { Vault, VaultRecord, VaultState } from '../vault.ts';
import { formatVault, type SealedRecord, type VaultDocument } from './document.ts';
import { findKey, type KeyPlaces, keyFile, makeKey } from './master-key.ts';
import { PurgeFiles } from './purges.ts';
import { VaultKey } from './seal.ts';
import { type Opened, VaultFile } from './vault-file.ts';

export interface FileVaultOptions {
  /** `<var>/secrets` */
  readonly folder: string;
  readonly run: string;
  readonly key: KeyPlaces;
  /** The plugin, for names in the health. */
  readonly id: string;
  readonly scope: Scope;
  readonly log: Logger;
  /** A simulated device: its disk is the developer's own. */
  readonly simulated?: boolean;
}

const OPEN: VaultState = { state: 'open' };

const sumOf = (key: Uint8Array): string => hash('sha256', key);

export class FileVault implements Vault {
  readonly path: string;
  readonly purges: NonNullable<Vault['purges']>;
  readonly stored: NonNullable<Vault['stored']> = {
    path: 'secrets/vault.json',
    sealed: (secrets) => this.#sealed(secrets),
  };
  readonly #options: FileVaultOptions;
  #state: VaultState = OPEN;
  #opened: Opened | undefined;
  #records: ReadonlyMap<SecretKey, VaultRecord> = new Map();
  #keyInFile = false;
  /** Hash of the master key that is in use. */
  #keySum: string | undefined;
  /** Records that were opened once under this name: they stay in memory as they are. */
  readonly #whole = new WeakMap<SealedRecord, SecretKey>();
  readonly #file: VaultFile;

  private constructor(options: FileVaultOptions) {
    this.#options = options;
    this.#file = new VaultFile(options.folder, options.log, (document) => {
      this.#records = recordsOf(document);
    });
    this.path = this.#file.path;
    this.purges = new PurgeFiles(options.folder, options.run);
  }

  /** Never rejects for the sake of the file, the key or the disk: look at `state`. */
  static async open(options: FileVaultOptions): Promise<FileVault> {
    const vault = new FileVault(options);
    await vault.retry();
    return vault;
  }

  get state(): VaultState {
    return this.#state;
  }

  get records(): ReadonlyMap<SecretKey, VaultRecord> {
    return this.#records;
  }

  async retry(): Promise<void> {
    try {
      await this.#look();
    } catch (error) {
      this.#shut('failed', 'VAULT_UNREADABLE', reasonOf(error));
    }
  }

  async read(key: SecretKey): Promise<string | undefined> {
    this.#assertOpen();
    const record = this.#opened?.document.records.get(key);
    if (!this.#opened || !record) return undefined;
    const text = this.#opened.key.open(key, record.gen, record.v);
    if (text !== undefined) return text;
    const copy = await this.#ofLastGood(key);
    if (copy === undefined) throw this.#spoiled(key);
    this.#file.note(key, `the record ${key} is damaged; its last good copy is used: set it anew`);
    return copy;
  }

  async write(key: SecretKey, text: string | undefined, by: string): Promise<void> {
    this.#assertOpen();
    // A backup may have been put there since the start: it is not written over.
    if (!this.#opened) await this.retry();
    this.#assertOpen();
    const lost = await this.#lostKey();
    if (lost) throw new CoreError('SECRETS_LOCKED', { reason: lost.reason });
    const { key: sealing, document } = this.#opened ? await this.#mended(this.#opened, key) : await this.#begin();
    const records = new Map(document.records);
    const gen = lastOf(document) + 1;
    if (text === undefined) records.delete(key);
    else records.set(key, { v: sealing.seal(key, gen, text), at: this.#options.scope.clock.now(), by, gen });
    await this.#put({ key: sealing, document: { ...document, records, gen } });
    this.#file.notes.delete(key);
  }

  async rotate(): Promise<void> {
    this.#assertOpen();
    if (!this.#opened) return;
    const former = await this.#mended(this.#opened);
    this.#opened = former;
    const found = await findKey(this.#options.key);
    if (found.key === undefined) throw new CoreError('SECRETS_LOCKED', { reason: found.reason });
    const key = VaultKey.make(found.key);
    const sum = sumOf(found.key);
    const records = new Map<SecretKey, SealedRecord>();
    for (const [name, record] of former.document.records) {
      const text = await this.read(name);
      const gen = record.gen + 1;
      records.set(name, { ...record, gen, v: key.seal(name, gen, text!) });
    }
    const text = formatVault({ ...key.lock, gen: lastOf(former.document) + 1, records });
    // The last good copy stays what it was until the new file was read back.
    await this.#file.replace(text, false);
    const back = await this.#file.find(this.path, found.key);
    const whole = back.is === 'good' && [...records.keys()].every((name) => opens(back.opened, name));
    if (!whole) {
      await this.#file.replace(formatVault(former.document), true);
      throw new CoreError('STATE_CORRUPT', {
        file: this.path,
        reason: 'the newly sealed vault could not be read back',
      });
    }
    this.#use(back.opened);
    this.#keySum = sum;
    this.#keyInFile = found.from === 'file';
    await this.#file.replace(text, true);
  }

  /** The key stays in memory: without a look at its place, what is set now would be lost with the next start. */
  async #lostKey(): Promise<{ readonly code: string; readonly reason: string } | undefined> {
    if (!this.#opened || this.#keySum === undefined) return undefined;
    const { key: places } = this.#options;
    const found = await findKey(places);
    if (found.key !== undefined && sumOf(found.key) === this.#keySum) return undefined;
    const what = 'what is kept cannot be opened after the next start';
    if (found.key === undefined)
      return { code: found.missing ? 'VAULT_KEY_MISSING' : 'VAULT_KEY_REFUSED', reason: `${found.reason}; ${what}` };
    const remedy = 'put the former key back, or seal the vault with this one: devicectl secret rotate';
    return { code: 'VAULT_KEY_WRONG', reason: `the key in its place is another one: ${what}; ${remedy}` };
  }

  async tell(report: HealthReport): Promise<void> {
    const lost = await this.#lostKey();
    if (lost) {
      report.warn(lost.code, lost.reason);
      report.add(`${this.#options.id}.key`, { status: 'blocked', code: lost.code, message: lost.reason });
    } else if (this.#keyInFile && this.#records.size > 0) this.#tellKeyFile(report);
    const { code, reason } = this.#state;
    if (code === 'STATE_NEWER') report.warn(code, `secrets cannot be used: ${reason}`);
    for (const note of this.#file.notes.values()) report.warn('STATE_CORRUPT', note);
    // A disk that refused a change is asked whether it takes one by now.
    if (this.#file.trouble && this.#opened) {
      const { document } = await this.#mended(this.#opened);
      await this.#file.replace(formatVault(document), true).catch(() => undefined); // told as the trouble
    }
    if (!this.#file.trouble) return;
    const message = `secrets cannot be changed: ${this.#file.trouble.message}`;
    report.add(`${this.#options.id}.vault`, { status: 'error', code: this.#file.trouble.code, message });
  }

  #tellKeyFile(report: HealthReport): void {
    const file = keyFile(this.#options.key);
    if (this.#options.simulated) {
      report.add(this.#options.id, { status: 'okay', message: `the key lies in ${file}, which is enough to develop` });
      return;
    }
    const seal = `systemd-creds encrypt --name=vault.key ${file} /etc/credstore.encrypted/<service>.vault.key`;
    const message = `the key of the secrets lies beside them in ${file}, where a stolen disk gives it away`;
    report.warn('VAULT_KEY_FILE', `${message}; to seal it: ${seal}, restart the service, remove the file`);
  }

  async #look(): Promise<void> {
    const { folder, key: places } = this.#options;
    await this.#file.tidy();
    const key = await findKey(places);
    this.#keyInFile = key.key !== undefined && key.from === 'file';
    this.#keySum = key.key && sumOf(key.key);
    const found = await this.#file.find(this.path, key.key);
    const good = found.is === 'good' ? found : await this.#file.find(`${this.path}.last-good`, key.key);
    if (found.is === 'refused' || found.is === 'newer')
      return this.#shut('failed', found.is === 'newer' ? 'STATE_NEWER' : 'VAULT_REFUSED', found.reason);
    if (found.is === 'good') return this.#use(found.opened);
    if (good.is === 'good') {
      await this.#file.recover(found, good.text);
      return this.#use(good.opened);
    }
    if (found.is === 'absent' && good.is === 'absent') {
      if (key.key === undefined && !key.missing) return this.#shut('locked', 'VAULT_KEY_REFUSED', key.reason);
      this.#opened = undefined;
      this.#records = new Map();
      this.#state = OPEN;
      return;
    }
    const remedy = `to begin anew without what it holds: mv ${folder} ${folder}.old`;
    if (key.key === undefined) {
      if (key.missing) return this.#shut('locked', 'VAULT_KEY_MISSING', `${key.reason}; ${remedy}`);
      return this.#shut('locked', 'VAULT_KEY_REFUSED', key.reason);
    }
    if (found.is === 'other key' || good.is === 'other key') {
      const reason = `the key is not the one with which ${this.path} was sealed; bring back the former one, or`;
      return this.#shut('locked', 'VAULT_KEY_WRONG', `${reason} ${remedy}`);
    }
    const why = found.is === 'absent' ? 'it is gone, and its last good copy is damaged' : found.reason;
    this.#shut('failed', 'VAULT_DAMAGED', `${this.path}: ${why}; put a backup there, or ${remedy}`);
  }

  async #ofLastGood(key: SecretKey): Promise<string | undefined> {
    const record = (await this.#file.lastGood(this.#opened?.document.salt)).get(key);
    return record && this.#opened?.key.open(key, record.gen, record.v);
  }

  /** The last good copy is about to be written over: what is whole in it alone is taken from there. `but` gets another text anyway. */
  async #mended(opened: Opened, but?: SecretKey): Promise<Opened> {
    const damaged = [...opened.document.records].filter(
      ([key, record]) => key !== but && !this.#isWhole(opened, key, record),
    );
    if (damaged.length === 0) return opened;
    const copies = await this.#file.lastGood(this.#opened?.document.salt);
    const records = new Map(opened.document.records);
    for (const [key] of damaged) {
      const copy = copies.get(key);
      if (!copy || !this.#isWhole(opened, key, copy)) continue;
      records.set(key, copy);
      this.#file.note(key, `the record ${key} was damaged; its last good copy was put back`);
    }
    return { ...opened, document: { ...opened.document, records } };
  }

  #isWhole({ key: sealing }: Opened, key: SecretKey, record: SealedRecord): boolean {
    if (this.#whole.get(record) === key) return true;
    const whole = sealing.open(key, record.gen, record.v) !== undefined;
    if (whole) this.#whole.set(record, key);
    return whole;
  }

  /** Begins the vault with the first secret. */
  async #begin(): Promise<Opened> {
    const { key: master, from } = await this.#master();
    this.#keyInFile = from === 'file';
    this.#keySum = sumOf(master);
    const key = VaultKey.make(master);
    return { key, document: { ...key.lock, records: new Map() } };
  }

  /** A key is made if none was given. */
  async #master(): Promise<{ readonly key: Uint8Array; readonly from: 'credential' | 'file' }> {
    const { key: places, log } = this.#options;
    const found = await findKey(places);
    if (found.key !== undefined) return found;
    if (!found.missing) throw new CoreError('SECRETS_LOCKED', { reason: found.reason });
    const key = await makeKey(places).catch((error) => {
      throw new CoreError('SECRETS_LOCKED', { reason: `${found.reason}; none can be made: ${reasonOf(error)}` });
    });
    log.warn({ file: keyFile(places) }, 'a key for the secrets was made');
    return { key, from: 'file' };
  }

  /** The key in its place is the one of the next start. */
  async #sealed(secrets: Iterable<MovedSecret>): Promise<string> {
    const sealing = VaultKey.make((await this.#master()).key);
    const records = new Map<SecretKey, SealedRecord>();
    for (const { key, text, at, by } of secrets) {
      const gen = records.size + 1;
      records.set(key, { v: sealing.seal(key, gen, text), at, by, gen });
    }
    return formatVault({ ...sealing.lock, gen: records.size, records });
  }

  async #put(opened: Opened): Promise<void> {
    await this.#file.makeFolder();
    await this.#file.replace(formatVault(opened.document), true);
    this.#use(opened);
  }

  #use(opened: Opened): void {
    this.#opened = opened;
    this.#records = recordsOf(opened.document);
    this.#state = OPEN;
  }

  #shut(state: 'locked' | 'failed', code: string, reason: string): void {
    this.#opened = undefined;
    this.#state = { state, code, reason };
  }

  #assertOpen(): void {
    const { state, reason = '' } = this.#state;
    if (state !== 'open') throw new CoreError('SECRETS_LOCKED', { reason });
  }

  #spoiled(key: SecretKey): CoreError {
    const { scope, name } = partsOf(key);
    const reason = `the record ${key} is damaged, or was sealed for another name; set it anew: ${commandFor(scope, name)}`;
    this.#file.note(key, `${this.path}: ${reason}`);
    return new CoreError('STATE_CORRUPT', { file: this.path, reason });
  }
}

function recordsOf({ records }: VaultDocument): ReadonlyMap<SecretKey, VaultRecord> {
  return new Map([...records].map(([key, { at, by, v }]) => [key, { at, by, bytes: Math.floor((v.length * 3) / 4) }]));
}

/** Highest number ever given, so that a deleted record cannot open in the place of a later one. */
function lastOf({ gen = 0, records }: VaultDocument): number {
  let last = gen;
  for (const record of records.values()) last = Math.max(last, record.gen);
  return last;
}

function opens({ key, document }: Opened, name: SecretKey): boolean {
  const record = document.records.get(name);
  return record !== undefined && key.open(name, record.gen, record.v) !== undefined;
}
