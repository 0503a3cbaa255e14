/**
 * Keys of a product, in a folder of their own. Each has a name and up to two files: `<name>.pub` says what the key is,
 * and one of `<name>.key` (PEM, sealed by a passphrase) and `<name>.signer` (a command that signs) says how it signs.
 * A holder of the public part alone can check and not sign.
 */

import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { maybe } from '@device-core/plugin-api';
import { makeFolder, replaceFile } from '@device-core/plugin-api/durable';
import { usage } from '@device-core/plugin-api/program';

/** Content of `<name>.pub`: an ImageKey with its fingerprint. */
export interface PublicKeyFile {
  /** PEM, Ed25519. */
  readonly key: string;
  /** `sha256:<hex>` */
  readonly fingerprint: string;
  /** Seconds since the Unix epoch. */
  readonly notAfter?: number;
}

export interface KeyPlace extends PublicKeyFile {
  readonly name: string;
  /** Without an ending. */
  readonly path: string;
  /** How it signs. */
  readonly kind: 'file' | 'signer' | 'public';
}

const NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;
const ENDING = /\.(pub|key|signer)$/;

export const publicKeyOf = ({ key }: PublicKeyFile): KeyObject => ed25519(createPublicKey(key), 'the key');

export function fingerprintOf(key: KeyObject): string {
  return `sha256:${createHash('sha256')
    .update(key.export({ format: 'der', type: 'spki' }))
    .digest('hex')}`;
}

export function ed25519(key: KeyObject, what: string): KeyObject {
  if (key.asymmetricKeyType !== 'ed25519') throw usage(`${what} is for ${key.asymmetricKeyType}, not Ed25519`);
  return key;
}

/** The key at `<folder>/<name>`, with or without one of its endings. Throws a usage error. */
export function keyAt(path: string): KeyPlace {
  const place = resolve(path).replace(ENDING, '');
  let found: Partial<PublicKeyFile>;
  try {
    found = Object(JSON.parse(readFileSync(`${place}.pub`, 'utf8')));
    ed25519(createPublicKey(String(found.key)), `${place}.pub`);
  } catch (error) {
    throw usage(`cannot read the key ${place}.pub: ${(error as Error).message}`, 'devicectl keys new makes keys');
  }
  const { key = '', notAfter } = found;
  if (notAfter !== undefined && !Number.isSafeInteger(notAfter)) throw usage(`${place}.pub: notAfter is no time`);
  return {
    name: basename(place),
    path: place,
    key,
    fingerprint: fingerprintOf(createPublicKey(key)),
    ...maybe({ notAfter }),
    kind: existsSync(`${place}.key`) ? 'file' : existsSync(`${place}.signer`) ? 'signer' : 'public',
  };
}

/** Every key of a folder, by name. */
export function keysIn(folder: string): readonly KeyPlace[] {
  let names: readonly string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    throw usage(`cannot read the folder of keys: ${(error as Error).message}`);
  }
  return names
    .filter((name) => name.endsWith('.pub'))
    .sort()
    .map((name) => keyAt(join(folder, name)));
}

export interface NewKey {
  readonly folder: string;
  readonly name: string;
  /** Absent: the private key lies there as it is. */
  readonly passphrase?: string;
  readonly notAfter?: number;
}

/** Throws a usage error where a key of that name is there, and below a git tree. */
export async function newKey({ folder, name, passphrase, notAfter }: NewKey): Promise<KeyPlace> {
  const place = await freePlace(folder, name);
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const sealed = passphrase === undefined ? {} : { cipher: 'aes-256-cbc', passphrase };
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8', ...sealed }).toString();
  await replaceFile(`${place}.key`, pem, { mode: 0o600 });
  return publish(place, publicKey, notAfter);
}

/** A key that something else keeps: `signer` is the command that signs with it. */
export async function foreignKey(
  { folder, name, notAfter }: NewKey,
  publicKey: KeyObject,
  signer: string,
): Promise<KeyPlace> {
  const place = await freePlace(folder, name);
  await replaceFile(`${place}.signer`, `${signer}\n`, { mode: 0o600 });
  return publish(place, ed25519(publicKey, 'the public key'), notAfter);
}

async function publish(place: string, publicKey: KeyObject, notAfter: number | undefined): Promise<KeyPlace> {
  const file: PublicKeyFile = {
    key: publicKey.export({ format: 'pem', type: 'spki' }).toString(),
    fingerprint: fingerprintOf(publicKey),
    ...maybe({ notAfter }),
  };
  await replaceFile(`${place}.pub`, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o644 });
  return keyAt(place);
}

async function freePlace(folder: string, name: string): Promise<string> {
  if (!NAME.test(name)) throw usage(`the name of a key is of small letters, digits and .-_, not "${name}"`);
  const place = join(resolve(folder), name);
  const tree = gitTreeAbove(place);
  if (tree !== undefined)
    throw usage(
      `${place} lies in the git tree ${tree}: a key there is one commit from everybody`,
      'name a folder outside',
    );
  for (const ending of ['key', 'signer', 'pub'])
    if (existsSync(`${place}.${ending}`))
      throw usage(`${place}.${ending} is there already; a key is never overwritten`);
  await makeFolder(dirname(place));
  return place;
}

/** The git tree that a path lies in, if it does; links are followed. */
function gitTreeAbove(path: string): string | undefined {
  let folder = dirname(path);
  while (!existsSync(folder)) folder = dirname(folder);
  folder = realpathSync(folder);
  for (;;) {
    if (existsSync(join(folder, '.git'))) return folder;
    if (dirname(folder) === folder) return undefined;
    folder = dirname(folder);
  }
}

/** The private key of a file. Throws a usage error; `passphrase` is asked where the file is sealed. */
export async function privateKeyOf(place: KeyPlace, passphrase: () => Promise<string>): Promise<KeyObject> {
  const file = `${place.path}.key`;
  if ((statSync(file).mode & 0o077) !== 0) throw usage(`others may read ${file}`, `chmod 600 ${file}`);
  const pem = readFileSync(file, 'utf8');
  const words = pem.includes('BEGIN ENCRYPTED') ? await passphrase() : undefined;
  let key: KeyObject;
  try {
    key = createPrivateKey({ key: pem, ...maybe({ passphrase: words }) });
  } catch (error) {
    const wrong = words === undefined ? (error as Error).message : 'the passphrase is of another key';
    throw usage(`cannot open ${file}: ${wrong}`);
  }
  if (fingerprintOf(createPublicKey(key)) !== place.fingerprint)
    throw usage(`${file} and ${place.path}.pub are of two keys`);
  return key;
}
