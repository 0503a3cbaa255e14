import { CoreError, reasonOf } from '@device-core/plugin-api';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { commandFor, isKey, partsOf, type SecretKey } from '../names.ts';
import type { Vault, VaultRecord, VaultState } from '../vault.ts';
import { type Keyring, KeyringError } from './keyring.ts';

/** Before the name of each key; others use the keyring, too. */
const PREFIX = 'device-core:';
/** Errors of a system that denies keys altogether. */
const DENIED = new Set(['EPERM', 'EACCES', 'ENOSYS']);
const FILE = 'the keyring of the kernel';
const FULL = new Set(['EDQUOT', 'ENOMEM']);

export type Until = 'exit' | 'reboot';

export interface KeyringRules {
  readonly until: Until;
  /** The OEM says that no process of another trust can use the keys of this user. */
  readonly alone: boolean;
  readonly now: () => number;
}

const SHARED: VaultState = {
  state: 'locked',
  code: 'KEYRING_SHARED',
  reason:
    'with until: reboot each process of the same user could read and replace the secrets: use until: exit, or say alone: true in the SKU where plugins and apps are denied keys or are users of their own',
};

/** Secrets as keys of the kernel: on no disk, and gone with the process or with the next start of the system. */
export class KeyringVault implements Vault {
  readonly #open: () => Promise<Keyring>;
  readonly #rules: KeyringRules;
  /** Keys with our names that cannot be read. */
  #foreign = 0;
  #keyring: Keyring | undefined;
  #records: ReadonlyMap<SecretKey, VaultRecord> = new Map();
  #state: VaultState = { state: 'locked', code: 'KEYRING_DENIED', reason: 'the keyring was not opened yet' };

  constructor(open: () => Promise<Keyring>, rules: KeyringRules) {
    this.#open = open;
    this.#rules = rules;
  }

  get state(): VaultState {
    return this.#state;
  }

  get records(): ReadonlyMap<SecretKey, VaultRecord> {
    return this.#records;
  }

  async retry(): Promise<void> {
    if (this.#keyring) return;
    const { until, alone } = this.#rules;
    if (until === 'reboot' && !alone) {
      this.#state = SHARED;
      return;
    }
    try {
      const keyring = await this.#open();
      this.#look(keyring);
      this.#keyring = keyring;
      this.#state = { state: 'open' };
    } catch (error) {
      const denied = error instanceof KeyringError && DENIED.has(error.errno);
      const remedy = 'a seccomp filter of the container or of the unit refuses @keyring: allow it, or use secrets-file';
      const reason = `the kernel gives no keyring: ${reasonOf(error)}${denied ? `; ${remedy}` : ''}`;
      this.#state = { state: 'locked', code: 'KEYRING_DENIED', reason };
    }
  }

  async read(key: SecretKey): Promise<string | undefined> {
    const keyring = this.#opened();
    const id = keyring.keys().get(`${PREFIX}${key}`);
    if (id === undefined) return undefined;
    try {
      return parse(keyring.read(id))?.text;
    } catch (error) {
      const { scope, name } = partsOf(key);
      const reason = `the key of ${key} cannot be read (${reasonOf(error)}); set it anew: ${commandFor(scope, name)}`;
      throw new CoreError('STATE_CORRUPT', { file: FILE, reason });
    }
  }

  async write(key: SecretKey, text: string | undefined, by: string): Promise<void> {
    const keyring = this.#opened();
    try {
      const id = keyring.keys().get(`${PREFIX}${key}`);
      if (text !== undefined)
        keyring.add(`${PREFIX}${key}`, Buffer.from(`${JSON.stringify({ at: this.#rules.now(), by })}\n${text}`));
      else if (id !== undefined) keyring.remove(id);
    } catch (error) {
      const full = error instanceof KeyringError && FULL.has(error.errno);
      const reason = full ? `${reasonOf(error)}: /proc/sys/kernel/keys says how much there may be` : reasonOf(error);
      throw new CoreError(full ? 'STORAGE_FULL' : 'STORAGE_FAILED', { file: FILE, reason });
    }
    this.#look(keyring);
  }

  /** The kernel seals nothing: there is nothing to do. */
  async rotate(): Promise<void> {
    this.#opened();
  }

  tell(report: HealthReport): void {
    if (this.#state.state !== 'open') return;
    const end =
      this.#rules.until === 'exit'
        ? 'the Core ends'
        : 'the device starts again, and each process of the same user that may use keys can read them until then';
    report.warn('SECRETS_VOLATILE', `secrets are in the keyring of the kernel: they are gone when ${end}`);
    if (this.#foreign === 0) return;
    const what = `${this.#foreign} keys of the keyring have names of secrets and cannot be read`;
    report.warn('KEYRING_FOREIGN', `${what}: another program put them there`);
  }

  #look(keyring: Keyring): void {
    const { records, foreign } = recordsIn(keyring);
    this.#records = records;
    this.#foreign = foreign;
  }

  #opened(): Keyring {
    if (this.#keyring) return this.#keyring;
    throw new CoreError('SECRETS_LOCKED', { reason: this.#state.reason ?? 'the keyring is not open' });
  }
}

/** One key that cannot be read is no reason to keep the others shut. */
function recordsIn(keyring: Keyring) {
  const records = new Map<SecretKey, VaultRecord>();
  let foreign = 0;
  for (const [description, id] of keyring.keys()) {
    const key = description.slice(PREFIX.length);
    if (!description.startsWith(PREFIX) || !isKey(key)) continue;
    const found = foundIn(keyring, id);
    if (found) records.set(key, { at: found.at, by: found.by, bytes: found.bytes });
    else foreign += 1;
  }
  return { records, foreign };
}

function foundIn(keyring: Keyring, id: number) {
  try {
    return parse(keyring.read(id));
  } catch {
    return undefined; // counted, and told in the health
  }
}

/** A line of JSON about it, then the text. */
function parse(bytes: Uint8Array) {
  const all = Buffer.from(bytes).toString('utf8');
  const end = all.indexOf('\n');
  try {
    const { at, by } = JSON.parse(all.slice(0, end));
    return typeof at === 'number' && typeof by === 'string'
      ? { at, by, text: all.slice(end + 1), bytes: bytes.length }
      : undefined;
  } catch {
    return undefined; // a key of another program
  }
}
