/** The master key: of systemd's credentials, else a file that only the Core's own user may read. */
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { reasonOf } from '@device-core/plugin-api';
import { makeFolder, replaceFile } from '@device-core/plugin-api/durable';

const NAME = 'vault.key';
const SHORTEST = 16;
const LONGEST = 4_096;
const MADE = 32;
/** No link is followed, and a pipe in its place does not keep the reader. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

export interface KeyPlaces {
  /** `$CREDENTIALS_DIRECTORY` of the unit. */
  readonly credentials: string | undefined;
  /** Folder of the system's configuration. */
  readonly etc: string;
}

export type FoundKey =
  | { readonly key: Uint8Array; readonly from: 'credential' | 'file' }
  | { readonly key?: undefined; readonly missing: true; readonly reason: string }
  | { readonly key?: undefined; readonly missing: false; readonly reason: string };

export const keyFile = ({ etc }: KeyPlaces): string => join(etc, 'secrets', NAME);

/** Never rejects: why there is none is for the health, with what to do. */
export async function findKey(places: KeyPlaces): Promise<FoundKey> {
  const { credentials } = places;
  // systemd says who may read it.
  const given = credentials === undefined ? undefined : await read(join(credentials, NAME), false);
  if (given instanceof Uint8Array) return { key: given, from: 'credential' };
  if (given !== undefined) return { missing: false, reason: given };
  const own = await read(keyFile(places), true);
  if (own instanceof Uint8Array) return { key: own, from: 'file' };
  if (own !== undefined) return { missing: false, reason: own };
  const put = `put the key of this device into ${keyFile(places)} (chmod 600), or give it as the credential ${NAME}`;
  return { missing: true, reason: `there is no master key; ${put}` };
}

/** Durable when it resolves. Rejects with the codes of a disk. */
export async function makeKey(places: KeyPlaces): Promise<Uint8Array> {
  const file = keyFile(places);
  const key = randomBytes(MADE);
  await makeFolder(dirname(file));
  await replaceFile(file, key, { mode: 0o600 });
  return key;
}

/** The key, why it is refused, or undefined where there is none. */
async function read(file: string, guarded: boolean): Promise<Uint8Array | string | undefined> {
  try {
    await using handle = await open(file, FLAGS);
    const { mode, size, uid, isFile } = await handle.stat().then((stat) => ({ ...stat, isFile: stat.isFile() }));
    if (!isFile) return `${file} is no file`;
    const own = process.getuid?.() ?? uid;
    if (guarded && uid !== own) return `${file} belongs to user ${uid}, not to the Core: chown ${own} ${file}`;
    if (guarded && (mode & 0o077) !== 0) return `others may read ${file}: chmod 600 ${file}`;
    if (size < SHORTEST || size > LONGEST) return `${file} has ${size} bytes: a key has ${SHORTEST} to ${LONGEST}`;
    return await handle.readFile();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    if (code === 'ELOOP') return `${file} is a link: put the key itself there`;
    return `${file} cannot be read: ${reasonOf(error)}`;
  }
}
