/**
 * An image folder as a plain tar: where its files lie. No package is used, because a Debian package reads its image
 * before the device has any.
 */
import { ImageError } from './image.ts';

const BLOCK = 512;
/** An image has 100,000 files at most. */
const MOST_ENTRIES = 100_010;
const MOST_BYTES = 8 * 2 ** 30;
const MOST_EXTENDED = 64 << 10;

/** Names of files in an archive of an image. */
export const ARCHIVED = /^(?:image\.json|image\.sig|blobs\/[0-9a-f]{64}\.zst)$/;

export interface ArchivePlace {
  readonly at: number;
  readonly size: number;
}

export type ArchiveTable = ReadonlyMap<string, ArchivePlace>;

/**
 * Yields the place of each header and wants its 512 bytes back: some callers may block, others may not. Returns the
 * files by name; callers check the names. Entries of the types `passed` are passed over. Throws ImageError for links,
 * all other entries, names that come twice, and damage.
 */
export function* archiveTable(length: number, passed = ''): Generator<ArchivePlace, ArchiveTable, Buffer> {
  const found = new Map<string, ArchivePlace>();
  let entries = 0;
  for (let at = 0; at + BLOCK <= length; entries += 1) {
    const header = yield { at, size: BLOCK };
    if (header.length < BLOCK) break;
    if (header.every((byte) => byte === 0)) return found;
    if (entries >= MOST_ENTRIES) throw refused(`it has more than ${MOST_ENTRIES} entries`);
    const { name, type, size } = entryOf(header);
    const shown = JSON.stringify(name.slice(0, 120));
    at += BLOCK;
    if (size > MOST_BYTES || at + size > length) throw refused(`it ends within ${shown}`);
    if (type === '0' || type === '\0') {
      if (found.has(name)) throw refused(`${shown} comes twice`);
      found.set(name, { at, size });
    } else if (type === '5') {
      // Package `tar` takes the content of a folder for the next header.
      if (size > 0) throw refused(`${shown} is a folder with a content`);
    } else if (!passed.includes(type)) throw refused(`${shown} is neither a file nor a folder`);
    else if (size > MOST_EXTENDED) throw refused('it has a header that is too long');
    at += Math.ceil(size / BLOCK) * BLOCK;
  }
  throw refused('it has no end');
}

function entryOf(header: Buffer): { readonly name: string; readonly type: string; readonly size: number } {
  const text = (from: number, to: number) => header.toString('latin1', from, to).replace(/\0.*$/s, '');
  const octal = (from: number, to: number): number => {
    const digits = text(from, to).trim() || '0';
    if (!/^[0-7]+$/.test(digits)) throw refused('it is no tar');
    return Number.parseInt(digits, 8);
  };
  const sum = header.reduce((all, byte, at) => all + (at >= 148 && at < 156 ? 32 : byte), 0);
  if (octal(148, 156) !== sum) throw refused('it is no tar');
  const prefix = text(257, 262) === 'ustar' ? text(345, 500) : '';
  const name = `${prefix === '' ? '' : `${prefix}/`}${text(0, 100)}`.replace(/^(?:\.\/)+/, '');
  return { name, type: header.toString('latin1', 156, 157), size: octal(124, 136) };
}

const refused = (reason: string): ImageError => new ImageError('file', reason);
