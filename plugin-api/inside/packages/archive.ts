/** Archives that the Core writes: plain tar, member after member. Package `tar` makes the headers and is loaded by the first of them. */
import { packageLater } from '../../kits/lazy-package.ts';

const tar = packageLater<typeof import('tar')>('tar', import.meta.url);
const BLOCK = 512;

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

/** A file as it lies in an archive. An extended header comes first where the path does not fit into the plain one. */
export function member(path: string, body: Uint8Array, fields: MemberFields): readonly Uint8Array[] {
  const { Header, Pax } = tar();
  const block = Buffer.alloc(BLOCK);
  const long = new Header({ ...fields, path, size: body.length, type: 'File' }).encode(block, 0);
  const parts = [block, body, Buffer.alloc((BLOCK - (body.length % BLOCK)) % BLOCK)];
  return long ? [new Pax({ path }).encode(), ...parts] : parts;
}
