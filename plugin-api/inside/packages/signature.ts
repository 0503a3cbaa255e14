/** Signatures of packages. Ed25519 over the hash of the files, in a text that names the kind of package. */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import { constants as fs } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreError, reasonOf } from '../../contract/errors.ts';
import type { PackageKind } from './kind.ts';

const MAX_SIGNATURE = 4096;

/** The signature file of an unpacked package. Throws SIGNATURE_INVALID where there is none, or it is none. */
export async function readSignature(kind: PackageKind, id: string, folder: string): Promise<string> {
  const name = kind.signature;
  try {
    await using handle = await open(join(folder, name), fs.O_RDONLY | fs.O_NOFOLLOW | fs.O_NONBLOCK);
    const found = await handle.stat();
    if (!found.isFile()) throw refusal(kind, id, `${name} is no file`);
    if (found.size > MAX_SIGNATURE) throw refusal(kind, id, `${name} is too large`);
    return await handle.readFile('utf8');
  } catch (error) {
    if (error instanceof CoreError) throw error;
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw refusal(kind, id, missing ? `it is not signed: there is no ${name}` : reasonOf(error));
  }
}

/** Content of the signature file for a tree. `pem` is an Ed25519 private key. Throws PARAMS_INVALID. */
export function signTree(kind: PackageKind, hash: string, pem: string): string {
  const key = ed25519(() => createPrivateKey(pem), 'the signing key');
  const signature = sign(null, message(kind, hash), key).toString('base64');
  return `${JSON.stringify({ algorithm: 'ed25519', key: fingerprint(createPublicKey(key)), signature }, null, 2)}\n`;
}

/** Fingerprint of the trusted key (PEM, Ed25519) that signed the tree. Throws SIGNATURE_INVALID for the plugin or app named. */
export function verifyTree(
  kind: PackageKind,
  id: string,
  hash: string,
  signature: string,
  trusted: readonly string[],
): string {
  let signed: { readonly key?: unknown; readonly signature?: unknown };
  try {
    signed = Object(JSON.parse(signature));
  } catch (error) {
    throw refusal(kind, id, `${kind.signature} cannot be read: ${reasonOf(error)}`);
  }
  const keys = trusted.map((pem, index) => ed25519(() => createPublicKey(pem), `trusted key ${index + 1}`));
  const key = keys.find((one) => fingerprint(one) === signed.key);
  if (!key) throw refusal(kind, id, `it is signed by ${signed.key ?? 'no key'}, which this device does not trust`);
  if (
    typeof signed.signature !== 'string' ||
    !verify(null, message(kind, hash), key, Buffer.from(signed.signature, 'base64'))
  )
    throw refusal(kind, id, 'its signature is of other files');
  return fingerprint(key);
}

export interface KeyPair {
  /** PEM, PKCS#8: for its owner alone. */
  readonly privateKey: string;
  /** PEM, SPKI: what a SKU trusts. */
  readonly publicKey: string;
  readonly fingerprint: string;
}

export function newKeyPair(): KeyPair {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    privateKey: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    publicKey: publicKey.export({ format: 'pem', type: 'spki' }).toString(),
    fingerprint: fingerprint(publicKey),
  };
}

/** `sha256:<hex>` of a public key, or of that of a private one. Throws PARAMS_INVALID. */
export function fingerprintOf(pem: string): string {
  return fingerprint(ed25519(() => createPublicKey(pem), 'the key'));
}

function refusal({ noun }: PackageKind, id: string, reason: string): CoreError {
  return new CoreError('SIGNATURE_INVALID', { what: `${noun} ${id}`, [noun]: id, reason });
}

function ed25519(read: () => KeyObject, where: string): KeyObject {
  let reason: string;
  try {
    const key = read();
    if (key.asymmetricKeyType === 'ed25519') return key;
    reason = `it is a key for ${key.asymmetricKeyType}, not Ed25519`;
  } catch (error) {
    reason = `it is no PEM key: ${reasonOf(error)}`;
  }
  throw new CoreError('PARAMS_INVALID', { where, reason });
}

function fingerprint(key: KeyObject): string {
  return `sha256:${createHash('sha256')
    .update(key.export({ format: 'der', type: 'spki' }))
    .digest('hex')}`;
}

/** A signature of this kind can be taken for no other. */
function message({ noun }: PackageKind, hash: string): Buffer {
  return Buffer.from(`device-core ${noun} ${hash}\n`);
}
