/** Reads a backup of any form from its beginning to its end: a plain tar, the same sealed with age, or one of form 1. */
import { type FileHandle, open } from 'node:fs/promises';
import { CoreError, reasonOf } from '@device-core/plugin-api';
import { memberPadding, readMember } from '@device-core/plugin-api/inside/packages';
import { admission } from './admission.ts';
import { ByteReader, bytesOf, objectIn } from './bytes.ts';
import { MAGIC, readFormer } from './former.ts';
import { FORM, type Head, invalid, LIMITS, type Taker } from './head.ts';
import { isSealed, unsealed } from './sealed.ts';
import { MEMBERS } from './writer.ts';

/** Throws BACKUP_INVALID with what is wrong; what was taken by then is of no use. The number of files. */
export async function readArchive(file: string, passphrase: string | undefined, taker: Taker): Promise<number> {
  await using handle = await open(file, 'r');
  const start = await startOf(handle);
  const former = begins(start, MAGIC);
  const sealed = isSealed(start);
  if (!former && !sealed && !begins(start, `${MEMBERS.head}\0`)) throw invalid('it is no backup of a device');
  if (sealed && passphrase === undefined) throw invalid('it was sealed: it needs its passphrase');
  if (!sealed && !former && passphrase !== undefined)
    throw invalid('it was not sealed: it is taken without a passphrase alone');
  await using reader = new ByteReader(sealed ? unsealed(bytesOf(handle), passphrase!) : bytesOf(handle));
  const files = former ? await readFormer(reader, passphrase, taker) : await readTar(reader, taker);
  if (!(await reader.over())) throw invalid('more follows behind its end');
  return files;
}

async function readTar(reader: ByteReader, taker: Taker): Promise<number> {
  const next = async () => {
    try {
      return await readMember((bytes) => reader.take(bytes));
    } catch (error) {
      throw error instanceof CoreError ? error : invalid(reasonOf(error));
    }
  };
  const text = async (size: number, most: number): Promise<string> => {
    if (size > most) throw invalid('a part of it is too long');
    const body = await reader.take(size);
    await reader.take(memberPadding(size).length);
    return body.toString('utf8');
  };
  const first = await next();
  if (first?.path !== MEMBERS.head) throw invalid('it is no backup of a device');
  const head = objectIn<Head>(await text(first.size, LIMITS.head));
  if (head.format !== FORM)
    throw invalid(`it has form ${JSON.stringify(head.format)}, this Core knows forms up to ${FORM}`);
  taker.head(head);
  const admit = admission(taker);
  let files = 0;
  let secrets = false;
  for (;;) {
    const sum = reader.digest();
    const found = await next();
    if (!found) throw invalid('it ends in the middle');
    const { path, size, mode } = found;
    if (path === MEMBERS.sum) {
      if ((await text(size, 128)) !== `${sum}\n`) throw invalid('it was changed, or is damaged');
      if ((await next()) !== undefined) throw invalid('more follows behind its end');
      return files;
    }
    if (path === MEMBERS.secrets && !secrets) {
      secrets = true;
      taker.secrets(await text(size, LIMITS.secrets));
      continue;
    }
    if (!path.startsWith(MEMBERS.state))
      throw invalid(`${JSON.stringify(path.slice(0, 120))}: it is no part of a backup`);
    const below = path.slice(MEMBERS.state.length);
    admit(below, size);
    if (mode > 0o777) throw invalid(`${JSON.stringify(below)}: it is setuid, setgid or sticky`);
    await taker.take({ path: below, size, mode }, reader.pieces(size));
    await reader.take(memberPadding(size).length);
    files += 1;
  }
}

async function startOf(handle: FileHandle): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(512), 0, 512, 0);
  return buffer.subarray(0, bytesRead);
}

/** A file that is cut off within these bytes begins with them, too. */
function begins(start: Buffer, text: string): boolean {
  return Buffer.from(text).subarray(0, start.length).equals(start.subarray(0, text.length));
}
