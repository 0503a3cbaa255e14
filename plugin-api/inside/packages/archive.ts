/** Archives of the Core: plain tar, member after member. Package `tar` makes and reads the headers and is loaded by the first of them. */
import { packageLater } from '../lazy-package.ts';

const tar = packageLater<typeof import('tar')>('tar', import.meta.url);
const BLOCK = 512;
const EMPTY = Buffer.alloc(BLOCK);
/** An extended header has one path. */
const MOST_EXTENDED = 64 << 10;

export interface MemberFields {
  readonly mode: number;
  readonly mtime: Date;
  readonly uid?: number;
  readonly gid?: number;
}

/** Owner and time of members that are the same bytes for all who pack them. */
export const REPRODUCIBLE = { uid: 0, gid: 0, mtime: new Date(0) } as const;

/** Two empty blocks end an archive. */
export const archiveEnd = (): Buffer => Buffer.alloc(2 * BLOCK);

/** A file as it lies in an archive. */
export function member(path: string, body: Uint8Array, fields: MemberFields): readonly Uint8Array[] {
  return [memberHeader(path, body.length, fields), body, memberPadding(body.length)];
}

/** The header of a file whose bytes follow. An extended header comes first where the path does not fit into the plain one. */
export function memberHeader(path: string, size: number, fields: MemberFields): Buffer {
  const { Header, Pax } = tar();
  const block = Buffer.alloc(BLOCK);
  const long = new Header({ ...fields, path, size, type: 'File' }).encode(block, 0);
  return long ? Buffer.concat([new Pax({ path }).encode(), block]) : block;
}

/** Bytes between a file of this size and the next header. */
export const memberPadding = (size: number): Buffer => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);

export interface MemberHead {
  readonly path: string;
  readonly size: number;
  readonly mode: number;
}

/**
 * Reads the next header of an archive that member() made; undefined at its end. `take` gives exactly so many bytes.
 * Throws an Error with the reason for damage and for all that is no plain file: links, devices, folders, and extended
 * headers that say more than a path.
 */
export async function readMember(take: (bytes: number) => Promise<Buffer>): Promise<MemberHead | undefined> {
  const { Header, Pax } = tar();
  let long: string | undefined;
  for (;;) {
    const block = await take(BLOCK);
    if (block.equals(EMPTY)) {
      if (long === undefined && (await take(BLOCK)).equals(EMPTY)) return undefined;
      throw new Error('its end is damaged');
    }
    const { cksumValid, type, path = '', size = -1, mode = 0 } = new Header(block);
    if (!cksumValid) throw new Error('it was changed, or is damaged');
    const shown = JSON.stringify((long ?? path).slice(0, 120));
    if (!Number.isSafeInteger(size) || size < 0) throw new Error(`${shown}: its size is none`);
    if (type === 'ExtendedHeader' && long === undefined && size <= MOST_EXTENDED) {
      const text = (await take(size + memberPadding(size).length)).toString('utf8', 0, size);
      const { path: told, ...more } = Pax.parse(text);
      const only = Object.values(more).every((value) => value === undefined || value === false);
      if (told === undefined || !only) throw new Error(`${shown}: its extended header says more than a path`);
      long = told;
    } else if (type === 'File') return { path: long ?? path, size, mode };
    else throw new Error(`${shown}: it is a ${type}, and no file`);
  }
}
