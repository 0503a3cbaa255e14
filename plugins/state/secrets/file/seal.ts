/** How a vault is sealed: HKDF-SHA256 (RFC 5869) makes its key of the master key, AES-256-GCM (NIST SP 800-38D) seals each record. Pure. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';

const NONCE = 12;
const TAG = 16;
const SALT = 32;
/** Sealed beside the records: tells a wrong key from damage. */
const KNOWN = 'this vault is open';
const CHECK = '1|check';

/** A vault's record of its key. */
export interface Lock {
  /** Base64. */
  readonly salt: string;
  /** Id of the key, in hex. */
  readonly keyId: string;
  readonly check: string;
}

export type Fit = 'fits' | 'other key' | 'damaged';

export class VaultKey {
  readonly #key: Buffer;
  readonly lock: Lock;

  private constructor(key: Buffer, lock: Lock) {
    this.#key = key;
    this.lock = lock;
  }

  /** Makes a key with a new salt. */
  static make(master: Uint8Array): VaultKey {
    const salt = randomBytes(SALT);
    const key = derived(master, salt, 'device-core vault key', 32);
    const keyId = derived(master, salt, 'device-core vault id', 8).toString('hex');
    return new VaultKey(key, { salt: salt.toString('base64'), keyId, check: seal(key, CHECK, KNOWN) });
  }

  static of(master: Uint8Array, lock: Lock): VaultKey | Exclude<Fit, 'fits'> {
    const salt = Buffer.from(lock.salt, 'base64');
    const key = derived(master, salt, 'device-core vault key', 32);
    const keyId = derived(master, salt, 'device-core vault id', 8);
    const told = Buffer.from(lock.keyId, 'hex');
    if (told.length !== keyId.length || !timingSafeEqual(told, keyId)) return 'other key';
    return unseal(key, CHECK, lock.check) === KNOWN ? new VaultKey(key, lock) : 'damaged';
  }

  seal(name: string, gen: number, text: string): string {
    return seal(this.#key, belongs(name, gen), text);
  }

  /** Undefined where it was changed, or sealed for another name. */
  open(name: string, gen: number, sealed: string): string | undefined {
    return unseal(this.#key, belongs(name, gen), sealed);
  }
}

/** A record cannot be moved to another name, nor a former one put in its place under a newer number. */
const belongs = (name: string, gen: number): string => `1|${name}|${gen}`;

function derived(master: Uint8Array, salt: Uint8Array, use: string, length: number): Buffer {
  return Buffer.from(hkdfSync('sha256', master, salt, use, length));
}

function seal(key: Buffer, to: string, text: string): string {
  const nonce = randomBytes(NONCE);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(to));
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64');
}

function unseal(key: Buffer, to: string, sealed: string): string | undefined {
  const bytes = Buffer.from(sealed, 'base64');
  if (bytes.length < NONCE + TAG) return undefined;
  const opened = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE), { authTagLength: TAG });
  opened.setAAD(Buffer.from(to)).setAuthTag(bytes.subarray(-TAG));
  const text = opened.update(bytes.subarray(NONCE, -TAG));
  try {
    return Buffer.concat([text, opened.final()]).toString('utf8');
  } catch {
    return undefined; // the caller names the record in its error
  }
}
