/**
 * A backup as one file: a line that says what it is, each file behind a line of its own, a list of them all with hashes, and the hash of everything
 * before. With a passphrase every file is sealed piece by piece, and the end is a keyed hash. It is written and read as a stream.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  scrypt as derive,
  type Hash,
  randomBytes,
  type ScryptOptions,
  timingSafeEqual,
} from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { CoreError, type StateForms } from '@device-core/plugin-api';
import { pathProblem } from '@device-core/plugin-api/inside/packages';

export const FORM = 1;
const MAGIC = 'device-core backup\n';
export const LIMITS = { files: 50_000, bytes: 256 << 20, line: 64 << 10, list: 16 << 20 } as const;

export interface BackupLimits {
  readonly files: number;
  readonly bytes: number;
  /** Limits of one app: it cannot fill a backup that the others need. */
  readonly app: { readonly entries: number; readonly bytes: number };
}
export const BACKUP_LIMITS: BackupLimits = { ...LIMITS, app: { entries: 10_000, bytes: 128 << 20 } };
/** Bytes that the list has in its frame. */
const LIST_ROOM = LIMITS.list - LIMITS.line;
const PIECE = 256 << 10;
/** Nonce and tag of a sealed piece. */
const SEAL = 28;

export interface Head {
  readonly format: number;
  readonly sku: string;
  /** Version of the Core that made it. */
  readonly core: string;
  /** Milliseconds since the Unix epoch. */
  readonly made: number;
  /** Store -> form that the Core wrote. */
  readonly forms: Readonly<Record<string, StateForms>>;
  /** Of the key that seals, base64; absent: nothing is sealed. */
  readonly salt?: string;
}

export interface Line {
  readonly path: string;
  readonly size: number;
  readonly mode: number;
  /** Only who has the passphrase reads it. */
  readonly sealed?: true;
}
type Listed = Line & { readonly sha256: string };

const sha256 = (): Hash => createHash('sha256');

const scrypt = promisify<string, Buffer, number, ScryptOptions, Buffer>(derive);

export interface Keys {
  readonly seal: Buffer;
  readonly sign: Buffer;
}

/** 32 MiB of memory and a tenth of a second, once a backup: a guess costs as much. */
export async function keysOf(passphrase: string, salt: string): Promise<Keys> {
  const cost = { N: 1 << 15, r: 8, p: 1, maxmem: 64 << 20 };
  const bytes = await scrypt(passphrase.normalize('NFC'), Buffer.from(salt, 'base64'), 64, cost);
  return { seal: bytes.subarray(0, 32), sign: bytes.subarray(32) };
}

/** What a piece belongs to: pieces cannot be left out, doubled or moved to another place. */
const belongs = ({ path, mode }: Line, index: number, last: boolean): Buffer =>
  Buffer.from(JSON.stringify([path, mode, index, last]));

function seal(key: Buffer, to: Buffer, bytes: Buffer): Buffer {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(to);
  return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
}

function unseal(key: Buffer, to: Buffer, bytes: Buffer): Buffer {
  const opened = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12), { authTagLength: 16 }).setAAD(to);
  opened.setAuthTag(bytes.subarray(-16));
  return Buffer.concat([opened.update(bytes.subarray(12, -16)), opened.final()]);
}

/** The last line: whoever has the passphrase knows that nobody else wrote it. */
function endOf(keys: Keys | undefined, hash: string): string {
  return keys ? `hmac-sha256:${createHmac('sha256', keys.sign).update(hash).digest('hex')}\n` : `sha256:${hash}\n`;
}

/** A place in a backup that is being written, to come back to. */
export interface Mark {
  readonly bytes: number;
  readonly files: number;
  readonly listBytes: number;
  readonly whole: Hash;
}

/** There is no room in a backup for what was to be added. */
export class TooMuch extends CoreError {
  constructor(reason: string) {
    super('BACKUP_INVALID', { source: 'of this device', reason });
  }
}

/** A file that cannot be read to its end, through no fault of the backup. */
export class Unreadable extends CoreError {
  readonly reason: string;

  constructor(reason: string, cause?: unknown) {
    super('STORAGE_FAILED', { file: 'of a backup', reason }, { cause });
    this.reason = reason;
  }
}

export class ArchiveWriter {
  readonly #out: FileHandle;
  #whole = sha256();
  readonly #list: Listed[] = [];
  readonly #keys: Keys | undefined;
  readonly limits: BackupLimits;
  #bytes = 0;
  #listBytes = 0;

  constructor(out: FileHandle, keys: Keys | undefined, limits: BackupLimits) {
    this.#out = out;
    this.#keys = keys;
    this.limits = limits;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get files(): number {
    return this.#list.length;
  }

  async begin(head: Head): Promise<void> {
    await this.#write(`${MAGIC}${JSON.stringify(head)}\n`);
  }

  mark(): Mark {
    return { bytes: this.#bytes, files: this.files, listBytes: this.#listBytes, whole: this.#whole.copy() };
  }

  /** Takes back all entries since the mark. */
  async back({ bytes, files, listBytes, whole }: Mark): Promise<void> {
    await this.#out.truncate(bytes);
    this.#bytes = bytes;
    this.#list.length = files;
    this.#listBytes = listBytes;
    this.#whole = whole.copy();
  }

  /** Copies what the file holds now. Throws TooMuch beyond the limits, and Unreadable for a file that grew shorter meanwhile or cannot be read. */
  async add(path: string, from: FileHandle): Promise<void> {
    const { size, mode: bits } = await from.stat();
    const mode = bits & 0o777;
    const whole = this.#keys ? size + SEAL * Math.max(1, Math.ceil(size / PIECE)) : size;
    const { bytes, files } = this.limits;
    if (this.#bytes + whole > bytes || this.files >= files || this.#listBytes > LIST_ROOM)
      throw new TooMuch(`it would hold more than ${bytes >> 20} MiB or ${files} files`);
    const line: Line = { path, size: whole, mode, ...(this.#keys && { sealed: true }) };
    const plain = pieces(from, size);
    await this.#entry(line, this.#keys ? sealedPieces(this.#keys.seal, line, plain, size) : plain);
  }

  async end(): Promise<string> {
    await this.#write(`${JSON.stringify({ files: this.#list })}\n`);
    const hash = this.#whole.digest('hex');
    await this.#put(Buffer.from(endOf(this.#keys, hash)));
    await this.#out.sync();
    return hash;
  }

  async #entry(line: Line, chunks: AsyncIterable<Buffer>): Promise<void> {
    const hash = sha256();
    await this.#write(`${JSON.stringify(line)}\n`);
    for await (const chunk of chunks) {
      hash.update(chunk);
      await this.#write(chunk);
    }
    const listed = { ...line, sha256: hash.digest('hex') };
    this.#list.push(listed);
    this.#listBytes += Buffer.byteLength(JSON.stringify(listed)) + 1;
  }

  async #write(text: string | Buffer): Promise<void> {
    const bytes = typeof text === 'string' ? Buffer.from(text) : text;
    this.#whole.update(bytes);
    await this.#put(bytes);
  }

  async #put(buffer: Buffer): Promise<void> {
    for (let done = 0; done < buffer.length; ) {
      const { bytesWritten } = await this.#out.write(buffer, done, buffer.length - done, this.#bytes);
      done += bytesWritten;
      this.#bytes += bytesWritten;
    }
  }
}

/** Each of them but the last is whole. */
async function* pieces(file: FileHandle, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < size; ) {
    const buffer = Buffer.alloc(Math.min(PIECE, size - at));
    for (let filled = 0; filled < buffer.length; ) {
      const { bytesRead } = await file
        .read(buffer, filled, buffer.length - filled, at + filled)
        .catch((thrown: NodeJS.ErrnoException) => {
          throw new Unreadable(`it cannot be read: ${thrown.code ?? thrown.message}`, thrown);
        });
      if (bytesRead === 0) throw new Unreadable('it was cut meanwhile');
      filled += bytesRead;
    }
    at += buffer.length;
    yield buffer;
  }
}

/** An empty file is one sealed piece of nothing. */
async function* sealedPieces(
  key: Buffer,
  line: Line,
  plain: AsyncIterable<Buffer>,
  size: number,
): AsyncGenerator<Buffer> {
  let index = 0;
  let left = size;
  for await (const piece of plain) {
    left -= piece.length;
    yield seal(key, belongs(line, index, left === 0), piece);
    index += 1;
  }
  if (index === 0) yield seal(key, belongs(line, 0, true), Buffer.alloc(0));
}

export interface Taker {
  /** Called before anything is taken: throws where the backup is for another device. */
  head(head: Head): void;
  /** Whether this path may be taken; a reason where not. */
  refuse(path: string): string | undefined;
  /** Gets the bytes of each file, which may come in pieces. */
  take(line: Line, bytes: AsyncIterable<Buffer>): Promise<void>;
}

/** Reads a backup from its beginning to its end. Throws BACKUP_INVALID with what is wrong; what was taken by then is of no use. */
export async function readArchive(file: string, passphrase: string | undefined, taker: Taker): Promise<number> {
  await using handle = await open(file, 'r');
  const reader = new Reader(handle);
  if ((await reader.take(MAGIC.length)).toString('latin1') !== MAGIC) throw invalid('it is no backup of a device');
  const head = await reader.json<Head>(LIMITS.list);
  if (typeof head.format !== 'number' || head.format > FORM)
    throw invalid(`it has form ${JSON.stringify(head.format)}, this Core knows forms up to ${FORM}`);
  taker.head(head);
  const keys = await keysFor(head, passphrase);
  const seen: Listed[] = [];
  const paths = new Set<string>();
  let bytes = 0;
  for (;;) {
    const line = await reader.json<Partial<Line> & { readonly files?: readonly Listed[] }>(LIMITS.list);
    if (line.files !== undefined) {
      if (JSON.stringify(line.files) !== JSON.stringify(seen)) throw invalid('its list is of other files');
      break;
    }
    const { path, size, mode, sealed } = checked(line);
    bytes += size;
    if (bytes > LIMITS.bytes || seen.length >= LIMITS.files) throw invalid('it is larger than a backup may be');
    const reason =
      pathProblem(path) ?? (paths.has(path.toLowerCase().normalize('NFC')) ? 'it comes twice' : taker.refuse(path));
    if (reason !== undefined) throw invalid(`${JSON.stringify(path.slice(0, 120))}: ${reason}`);
    if ((sealed === true) !== (keys !== undefined))
      throw invalid(
        `${JSON.stringify(path.slice(0, 120))}: ${sealed ? 'it is' : 'it is not'} sealed, and the rest is otherwise`,
      );
    paths.add(path.toLowerCase().normalize('NFC'));
    const hash = sha256();
    const entry: Line = { path, size, mode, ...(sealed && { sealed }) };
    await taker.take(entry, keys ? opened(reader, entry, keys.seal, hash) : reader.pieces(size, hash));
    seen.push({ ...entry, sha256: hash.digest('hex') });
  }
  const end = Buffer.from(endOf(keys, reader.digest()));
  if (!timingSafeEqual(await reader.take(end.length), end)) throw invalid('it was changed, or is damaged');
  if (!(await reader.over())) throw invalid('more follows behind its end');
  return seen.length;
}

/** Who gives a passphrase expects a seal: without this check, anybody could hand over a forged backup that has none. */
async function keysFor({ salt }: Head, passphrase: string | undefined): Promise<Keys | undefined> {
  if (salt === undefined && passphrase === undefined) return undefined;
  if (salt === undefined) throw invalid('it was not sealed: it is taken without a passphrase alone');
  if (passphrase === undefined) throw invalid('it was sealed: it needs its passphrase');
  if (typeof salt !== 'string') throw invalid('its first line is none');
  return keysOf(passphrase, salt);
}

async function* opened(reader: Reader, line: Line, key: Buffer, hash: Hash): AsyncGenerator<Buffer> {
  for (let left = line.size, index = 0; index === 0 || left > 0; index += 1) {
    if (left < SEAL) throw invalid('a sealed file without a seal');
    const bytes = await reader.take(Math.min(left, PIECE + SEAL));
    left -= bytes.length;
    hash.update(bytes);
    let plain: Buffer;
    try {
      plain = unseal(key, belongs(line, index, left === 0), bytes);
    } catch {
      throw invalid('the passphrase is another one, or it was changed');
    }
    yield plain;
  }
}

function checked({ path, size, mode, sealed }: Partial<Line>): Line {
  const fine =
    typeof path === 'string' && Number.isSafeInteger(size) && size! >= 0 && Number.isInteger(mode) && mode! <= 0o777;
  if (!fine || (sealed !== undefined && sealed !== true)) throw invalid('a line of it is none');
  return { path, size: size!, mode: mode!, ...(sealed && { sealed }) };
}

export function invalid(reason: string): CoreError {
  return new CoreError('BACKUP_INVALID', { source: 'that was handed over', reason });
}

class Reader {
  readonly #file: FileHandle;
  readonly #whole = sha256();
  #buffer: Buffer = Buffer.alloc(0);
  #at = 0;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  /** Of everything so far. */
  digest(): string {
    return this.#whole.copy().digest('hex');
  }

  async over(): Promise<boolean> {
    return this.#buffer.length === 0 && !(await this.#more());
  }

  async take(length: number): Promise<Buffer> {
    while (this.#buffer.length < length) if (!(await this.#more())) throw invalid('it ends in the middle');
    return this.#cut(length);
  }

  async json<T>(most: number): Promise<T> {
    let end = this.#buffer.indexOf(10);
    while (end < 0) {
      if (this.#buffer.length > most) throw invalid('a line of it is too long');
      const from = this.#buffer.length;
      if (!(await this.#more())) throw invalid('it ends in the middle');
      end = this.#buffer.indexOf(10, from);
    }
    const text = this.#cut(end + 1).toString('utf8');
    try {
      const value: unknown = JSON.parse(text);
      if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as T;
    } catch {
      // told below
    }
    throw invalid('a line of it is no JSON');
  }

  async *pieces(size: number, hash: Hash): AsyncGenerator<Buffer> {
    for (let left = size; left > 0; ) {
      if (this.#buffer.length === 0 && !(await this.#more())) throw invalid('it ends in the middle');
      const piece = this.#cut(Math.min(left, this.#buffer.length));
      hash.update(piece);
      left -= piece.length;
      yield piece;
    }
  }

  #cut(length: number): Buffer {
    const bytes = this.#buffer.subarray(0, length);
    this.#buffer = this.#buffer.subarray(length);
    this.#whole.update(bytes);
    return bytes;
  }

  async #more(): Promise<boolean> {
    const buffer = Buffer.alloc(PIECE);
    const { bytesRead } = await this.#file.read(buffer, 0, PIECE, this.#at);
    this.#at += bytesRead;
    this.#buffer = Buffer.concat([this.#buffer, buffer.subarray(0, bytesRead)]);
    return bytesRead > 0;
  }
}
