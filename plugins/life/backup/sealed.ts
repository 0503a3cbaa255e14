/**
 * A backup under a passphrase is a file of age (age-encryption.org/v1), which `age -d` opens on any machine. Work
 * factor 15 takes 32 MiB and a tenth of a second for each guess; the default of age, 18, takes 256 MiB, which a small
 * device does not have. Node derives the key, outside of the event loop.
 */
import { createCipheriv, createDecipheriv, scrypt as derive, randomBytes, type ScryptOptions } from 'node:crypto';
import { promisify } from 'node:util';
import { CoreError } from '@device-core/plugin-api';
import type { Identity, Recipient, Stanza } from 'age-encryption';
import { invalid } from './head.ts';

export const WORK_FACTOR = 15;
/** One more: 64 MiB is all that a backup from elsewhere may cost. */
const MOST_WORK = 16;
const INTRO = 'age-encryption.org/v1\n';
const LABEL = 'age-encryption.org/v1/scrypt';
const ALGORITHM = 'chacha20-poly1305';
/** A key is used for one file key alone. */
const NONCE = Buffer.alloc(12);
const TAG = 16;
/** A header of one passphrase has 150 bytes. */
const MOST_HEADER = 64 << 10;

const scrypt = promisify<string, Buffer, number, ScryptOptions, Buffer>(derive);
const age = () => import('age-encryption'); // only where a backup is sealed or opened

export const isSealed = (start: Buffer): boolean => start.toString('latin1', 0, INTRO.length) === INTRO;

/** The bytes as a file of age. */
export async function sealed(bytes: AsyncIterable<Uint8Array>, passphrase: string): Promise<AsyncIterable<Uint8Array>> {
  const { Encrypter, Stanza } = await age();
  const recipient: Recipient = {
    async wrapFileKey(fileKey) {
      const salt = randomBytes(16);
      const cipher = createCipheriv(ALGORITHM, await keyOf(passphrase, salt, WORK_FACTOR), NONCE, {
        authTagLength: TAG,
      });
      const body = Buffer.concat([cipher.update(fileKey), cipher.final(), cipher.getAuthTag()]);
      return [new Stanza(['scrypt', salt.toString('base64').replaceAll('=', ''), `${WORK_FACTOR}`], body)];
    },
  };
  const encrypter = new Encrypter();
  encrypter.addRecipient(recipient);
  return encrypter.encrypt(ReadableStream.from(bytes));
}

/** The bytes of a file of age. Throws BACKUP_INVALID. */
export async function* unsealed(bytes: AsyncIterable<Uint8Array>, passphrase: string): AsyncGenerator<Uint8Array> {
  const { Decrypter } = await age();
  const identity: Identity = { unwrapFileKey: (stanzas) => fileKeyOf(stanzas, passphrase) };
  const decrypter = new Decrypter();
  decrypter.addIdentity(identity);
  try {
    yield* await decrypter.decrypt(ReadableStream.from(guarded(bytes)));
  } catch (error) {
    // Errors of the disk have a code, and those of the package none.
    if (error instanceof CoreError || (error as NodeJS.ErrnoException).code !== undefined) throw error;
    throw invalid('it was changed, is damaged, or ends in the middle');
  }
}

/** The package keeps a header whole, however long it is. */
async function* guarded(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let first = true;
  for await (const chunk of bytes) {
    if (first && chunk.length > MOST_HEADER && !Buffer.from(chunk.subarray(0, MOST_HEADER)).includes('\n--- '))
      throw invalid('its header is too long');
    first = false;
    yield chunk;
  }
}

async function fileKeyOf(stanzas: readonly Stanza[], passphrase: string): Promise<Uint8Array> {
  const [stanza] = stanzas;
  const [type = '', salt = '', work = ''] = stanza?.args ?? [];
  if (type !== 'scrypt' || stanzas.length !== 1)
    throw invalid(`it was sealed for ${JSON.stringify(type.slice(0, 60))} of age, and not for a passphrase alone`);
  const body = Buffer.from(stanza!.body);
  const bytes = Buffer.from(salt, 'base64');
  const well = stanza!.args.length === 3 && /^[1-9]\d?$/.test(work) && bytes.length === 16 && body.length === 16 + TAG;
  if (!well) throw invalid('its header is none');
  if (Number(work) > MOST_WORK)
    throw invalid(`its passphrase has work factor ${work}, which takes too much memory: at most ${MOST_WORK}`);
  const cipher = createDecipheriv(ALGORITHM, await keyOf(passphrase, bytes, Number(work)), NONCE, {
    authTagLength: TAG,
  });
  cipher.setAuthTag(body.subarray(-TAG));
  try {
    return Buffer.concat([cipher.update(body.subarray(0, -TAG)), cipher.final()]);
  } catch {
    throw invalid('the passphrase is another one, or it was changed');
  }
}

function keyOf(passphrase: string, salt: Uint8Array, work: number): Promise<Buffer> {
  const cost = { N: 2 ** work, r: 8, p: 1, maxmem: 2 ** (work + 11) };
  return scrypt(passphrase.normalize('NFC'), Buffer.concat([Buffer.from(LABEL), salt]), 32, cost);
}
