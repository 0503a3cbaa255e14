/** Whatever signs: a file with a key, or a command that knows a device which keeps one. Every tool of the plugin signs through it. */
import { spawnSync } from 'node:child_process';
import { sign, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { passphraseFrom } from '@device-core/plugin-api/inside/program';
import { EXIT, Failure, usage } from '@device-core/plugin-api/program';
import { type KeyPlace, keyAt, privateKeyOf, publicKeyOf } from './key-files.ts';
import { typedPassphrase } from './passphrase.ts';

export interface Signer extends KeyPlace {
  /** Ed25519, 64 bytes. Throws a Failure. */
  sign(message: Uint8Array): Buffer;
}

export interface SignerOptions {
  /** Its first line opens the key; absent: the terminal is asked. */
  readonly passphraseFile?: string | undefined;
  /**
   * A command instead of what lies beside the key: message on its standard input, signature (64 bytes, or base64 of
   * them) on its output.
   */
  readonly signer?: string | undefined;
  /** Milliseconds since the Unix epoch; a key that has ended signs nothing. */
  readonly now?: number;
}

const LONGEST_SIGNING_MS = 120_000;

/** The key `<folder>/<name>`, opened. Throws a usage error. */
export async function openSigner(path: string, options: SignerOptions = {}): Promise<Signer> {
  const place = keyAt(path);
  const { now = Date.now() } = options;
  if (place.notAfter !== undefined && place.notAfter * 1000 < now)
    throw usage(`the key ${place.name} ended on ${dayOf(place.notAfter)}`, 'make a new one, and rotate to it');
  const make = options.signer === undefined ? await ownWay(place, options) : byCommand(options.signer);
  return { ...place, sign: (message) => checked(place, message, make(message)) };
}

export const dayOf = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 10);

type Make = (message: Uint8Array) => Buffer;

async function ownWay(place: KeyPlace, { passphraseFile }: SignerOptions): Promise<Make> {
  if (place.kind === 'public')
    throw usage(`only the public part of key ${place.name} is here`, 'sign where it is kept, or name a --signer');
  if (place.kind === 'signer') return byCommand(readFileSync(`${place.path}.signer`, 'utf8').trim());
  const key = await privateKeyOf(place, async () =>
    passphraseFile === undefined
      ? await typedPassphrase(`passphrase of ${place.name}: `)
      : await passphraseFrom(passphraseFile),
  );
  return (message) => sign(null, message, key);
}

function byCommand(command: string): Make {
  return (message) => {
    const { status, stdout, stderr, error } = spawnSync('/bin/sh', ['-c', command], {
      input: message,
      timeout: LONGEST_SIGNING_MS,
      maxBuffer: 1 << 20,
    });
    // One that signs without reading the message is found by its signature.
    const failed = error !== undefined && (error as NodeJS.ErrnoException).code !== 'EPIPE';
    if (failed || status !== 0)
      throw new Failure(
        EXIT.answered,
        'INTERNAL',
        `the signer ended with ${failed ? error?.message : status}: ${String(stderr).trim()}`,
      );
    return stdout.length === 64 ? stdout : Buffer.from(stdout.toString('latin1').trim(), 'base64');
  };
}

/** A signer that answers nonsense, or has another key, is found here and not on a thousand devices. */
function checked(place: KeyPlace, message: Uint8Array, signature: Buffer): Buffer {
  if (signature.length === 64 && verify(null, message, publicKeyOf(place), signature)) return signature;
  throw new Failure(
    EXIT.answered,
    'SIGNATURE_INVALID',
    `what signed is not the key ${place.name} (${place.fingerprint})`,
  );
}
