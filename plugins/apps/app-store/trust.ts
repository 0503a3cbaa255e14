/** Signers whose apps this device takes. A key speaks for its ids only, and up to its class. */
import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type CapabilityClass, CoreError, classOf, reasonOf } from '@device-core/plugin-api';
import { APP_PACKAGE, fingerprintOf, readSignature, verifyTree } from '@device-core/plugin-api/inside/packages';
import type { AppManifest } from '@device-core/plugin-api/services/apps';

export interface TrustedKey {
  readonly name: string;
  /** Ed25519, PEM. */
  readonly key: string;
  /** `com.example.agenda`, or `com.example.*` for everything below. */
  readonly ids: readonly string[];
  readonly highest: CapabilityClass;
}

export interface TrustPolicy {
  readonly signatures: 'off' | 'warn' | 'require';
  readonly trust: readonly TrustedKey[];
}

const CLASSES: readonly CapabilityClass[] = ['normal', 'sensitive', 'oem'];
/** In the package of an app whose signer changes: the former signer says who the next one is. */
export const ROTATION_FILE = 'app.rotate';

/**
 * Fingerprint of the trusted key that signed the package in the folder; undefined where it is unsigned and may be. What
 * a trusted key signed wrongly is refused also where unsigned apps are taken. Throws SIGNATURE_INVALID.
 */
export async function signerOf(
  manifest: AppManifest,
  folder: string,
  hash: string,
  { signatures, trust }: TrustPolicy,
): Promise<string | undefined> {
  const { id } = manifest;
  if (signatures === 'off') return undefined;
  const refuse = (reason: string) => new CoreError('SIGNATURE_INVALID', { what: `app ${id}`, app: id, reason });
  let text: string;
  try {
    text = await readSignature(APP_PACKAGE, id, folder);
  } catch (error) {
    if (signatures === 'warn') return undefined;
    throw error;
  }
  const known = trust.some(({ key }) => text.includes(fingerprintOf(key)));
  if (!known && signatures === 'warn') return undefined;
  const keys = trust.map(({ key }) => key);
  const signer = verifyTree(APP_PACKAGE, id, hash, text, keys);
  const own = trust.filter(({ key }) => fingerprintOf(key) === signer);
  const forId = own.filter(({ ids }) => ids.some((pattern) => covers(pattern, id)));
  const names = own.map(({ name }) => name).join(', ');
  if (forId.length === 0) throw refuse(`the key ${names} does not speak for it`);
  const asked = highestOf(manifest);
  if (!forId.some(({ highest }) => CLASSES.indexOf(highest) >= CLASSES.indexOf(asked)))
    throw refuse(`it asks for capabilities of class ${asked}, and the key ${names} speaks for less`);
  return signer;
}

/** The name that the SKU gives the key with this fingerprint, as people are shown it; the fingerprint where it gives none. */
export function signerName(app: string, signer: string, trust: readonly TrustedKey[]): string {
  const own = trust.filter(({ key, ids }) => fingerprintOf(key) === signer && ids.some((one) => covers(one, app)));
  return own.find(({ name }) => name.trim() !== '')?.name ?? signer;
}

/** Throws APP_CONFLICT unless the new version comes from whoever signed the one that is there, or carries their word for the new signer. */
export async function checkSigner(
  app: string,
  former: string | undefined,
  now: string | undefined,
  folder: string,
): Promise<void> {
  if (former === undefined || former === now) return;
  const reason = `what is installed is signed by ${former}, this is signed by ${now ?? 'nobody that this device trusts'}`;
  const refuse = (why: string) => new CoreError('APP_CONFLICT', { verb: 'update', app, reason: `${reason}; ${why}` });
  if (now === undefined) throw refuse('remove the app first');
  const text = await readFile(join(folder, ROTATION_FILE), 'utf8').catch(() => undefined);
  if (text === undefined) throw refuse(`there is no ${ROTATION_FILE} of the former signer`);
  const problem = rotationProblem(app, text, former, now);
  if (problem) throw refuse(problem);
}

/** Content of `app.rotate`: the former signer's word that the next versions of this app are signed by another key. */
export function rotationOf(app: string, formerPem: string, next: string): string {
  const key = createPrivateKey(formerPem);
  const signature = sign(null, message(app, next), key).toString('base64');
  const publicKey = createPublicKey(key).export({ format: 'pem', type: 'spki' }).toString();
  return `${JSON.stringify({ algorithm: 'ed25519', key: publicKey, next, signature }, null, 2)}\n`;
}

function rotationProblem(app: string, text: string, former: string, now: string): string | undefined {
  try {
    const { key, next, signature } = Object(JSON.parse(text));
    if (fingerprintOf(String(key)) !== former) return `${ROTATION_FILE} is not of the former signer`;
    if (next !== now) return `${ROTATION_FILE} names another signer`;
    const good = verify(
      null,
      message(app, now),
      createPublicKey(String(key)),
      Buffer.from(String(signature), 'base64'),
    );
    return good ? undefined : `the signature in ${ROTATION_FILE} is of something else`;
  } catch (thrown) {
    return `${ROTATION_FILE} cannot be read: ${reasonOf(thrown)}`;
  }
}

function message(app: string, next: string): Buffer {
  return Buffer.from(`device-core app rotate ${app} ${next}\n`);
}

function covers(pattern: string, id: string): boolean {
  return pattern === id || pattern === '*' || (pattern.endsWith('.*') && id.startsWith(pattern.slice(0, -1)));
}

function highestOf({ capabilities }: AppManifest): CapabilityClass {
  const at = capabilities.map(({ id }) => CLASSES.indexOf(classOf(id) ?? 'oem'));
  return CLASSES[Math.max(0, ...at)] ?? 'normal';
}
