/**
 * Reads backups of form 1, which Cores made before archives were plain tar. Each file stands behind a line of JSON; a
 * list and a hash end it.
 */

import {
  createDecipheriv,
  createHash,
  createHmac,
  scrypt as derive,
  type Hash,
  type ScryptOptions,
  timingSafeEqual,
} from 'node:crypto';
import { promisify } from 'node:util';
import { maybe } from '@device-core/plugin-api';
import { admission } from './admission.ts';
import type { ByteReader } from './bytes.ts';
import { PIECE } from './bytes.ts';
import { type Head, invalid, type Line, type Taker } from './head.ts';

export const MAGIC = 'device-core backup\n';
const FORM = 1;
const MOST_LINE = 16 << 20;
/** Nonce and tag of a sealed piece. */
const SEAL = 28;

/** `salt` makes the key that seals, base64; absent: nothing is sealed. */
type FormerHead = Head & { readonly salt?: string };
type FormerLine = Line & { readonly sealed?: true };
type Listed = FormerLine & { readonly sha256: string };

interface Keys {
  readonly seal: Buffer;
  readonly sign: Buffer;
}

const scrypt = promisify<string, Buffer, number, ScryptOptions, Buffer>(derive);

/** Throws BACKUP_INVALID. The number of files. */
export async function readFormer(reader: ByteReader, passphrase: string | undefined, taker: Taker): Promise<number> {
  await reader.take(MAGIC.length);
  const head = await reader.json<FormerHead>(MOST_LINE);
  if (head.format !== FORM)
    throw invalid(`it has form ${JSON.stringify(head.format)}, and begins as one of form ${FORM}`);
  taker.head(head);
  const keys = await keysFor(head, passphrase);
  const admit = admission(taker);
  const seen: Listed[] = [];
  for (;;) {
    const line = await reader.json<Partial<FormerLine> & { readonly files?: readonly Listed[] }>(MOST_LINE);
    if (line.files !== undefined) {
      if (JSON.stringify(line.files) !== JSON.stringify(seen)) throw invalid('its list is of other files');
      break;
    }
    const entry = checked(line);
    const { path, size, sealed } = entry;
    admit(path, size);
    if ((sealed === true) !== (keys !== undefined))
      throw invalid(`${JSON.stringify(path)}: ${sealed ? 'it is' : 'it is not'} sealed, and the rest is otherwise`);
    const hash = createHash('sha256');
    await taker.take(entry, keys ? opened(reader, entry, keys.seal, hash) : hashed(reader.pieces(size), hash));
    seen.push({ ...entry, sha256: hash.digest('hex') });
  }
  const end = Buffer.from(endOf(keys, reader.digest()));
  if (!timingSafeEqual(await reader.take(end.length), end)) throw invalid('it was changed, or is damaged');
  return seen.length;
}

/** A passphrase expects a seal: without this check, a forged backup without one could be handed over. */
async function keysFor({ salt }: FormerHead, passphrase: string | undefined): Promise<Keys | undefined> {
  if (salt === undefined && passphrase === undefined) return undefined;
  if (salt === undefined) throw invalid('it was not sealed: it is taken without a passphrase alone');
  if (passphrase === undefined) throw invalid('it was sealed: it needs its passphrase');
  if (typeof salt !== 'string') throw invalid('its first line is none');
  const cost = { N: 1 << 15, r: 8, p: 1, maxmem: 64 << 20 };
  const bytes = await scrypt(passphrase.normalize('NFC'), Buffer.from(salt, 'base64'), 64, cost);
  return { seal: bytes.subarray(0, 32), sign: bytes.subarray(32) };
}

async function* hashed(bytes: AsyncIterable<Buffer>, hash: Hash): AsyncGenerator<Buffer> {
  for await (const piece of bytes) {
    hash.update(piece);
    yield piece;
  }
}

/** A piece belongs to its file and place: it cannot be left out, doubled or moved. */
async function* opened(reader: ByteReader, { path, mode, size }: FormerLine, key: Buffer, hash: Hash) {
  for (let left = size, index = 0; index === 0 || left > 0; index += 1) {
    if (left < SEAL) throw invalid('a sealed file without a seal');
    const bytes = await reader.take(Math.min(left, PIECE + SEAL));
    left -= bytes.length;
    hash.update(bytes);
    yield unsealed(key, JSON.stringify([path, mode, index, left === 0]), bytes);
  }
}

function unsealed(key: Buffer, to: string, bytes: Buffer): Buffer {
  const cipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12), { authTagLength: 16 });
  cipher.setAAD(Buffer.from(to)).setAuthTag(bytes.subarray(-16));
  try {
    return Buffer.concat([cipher.update(bytes.subarray(12, -16)), cipher.final()]);
  } catch {
    throw invalid('the passphrase is another one, or it was changed');
  }
}

function endOf(keys: Keys | undefined, hash: string): string {
  return keys ? `hmac-sha256:${createHmac('sha256', keys.sign).update(hash).digest('hex')}\n` : `sha256:${hash}\n`;
}

function checked({ path, size, mode, sealed }: Partial<FormerLine>): FormerLine {
  const fine =
    typeof path === 'string' && Number.isSafeInteger(size) && size! >= 0 && Number.isInteger(mode) && mode! <= 0o777;
  if (!fine || (sealed !== undefined && sealed !== true)) throw invalid('a line of it is none');
  return { path, size: size!, mode: mode!, ...maybe({ sealed }) };
}
