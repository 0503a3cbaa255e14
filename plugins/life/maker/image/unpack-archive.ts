import { closeSync, fstatSync, mkdirSync, openSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ImageError } from '@device-core/plugin-api/inside/image';
import {
  ARCHIVED,
  type ArchivePlace,
  type ArchiveTable,
  archiveTable,
} from '@device-core/plugin-api/inside/image-archive';
import { BLOBS } from './write.ts';

export interface ImageArchive extends Disposable {
  readonly table: ArchiveTable;
  read(place: ArchivePlace): Buffer;
}

/** Throws ImageError as archiveTable(). */
export function openArchive(path: string): ImageArchive {
  const handle = openSync(path, 'r');
  const read = ({ at, size }: ArchivePlace): Buffer => {
    const bytes = Buffer.alloc(size);
    return bytes.subarray(0, readSync(handle, bytes, 0, size, at));
  };
  const close = () => closeSync(handle);
  try {
    const walk = archiveTable(fstatSync(handle).size);
    let step = walk.next();
    while (!step.done) step = walk.next(read(step.value));
    return { table: step.value, read, [Symbol.dispose]: close };
  } catch (error) {
    close();
    throw error;
  }
}

/** The folder that an archive was made of. Throws for a name that no image has. */
export function unpackArchive(file: string, to: string): void {
  using archive = openArchive(file);
  mkdirSync(join(to, BLOBS), { recursive: true });
  for (const [name, place] of archive.table) {
    if (!ARCHIVED.test(name)) throw new ImageError('file', 'no image has such a file', name);
    writeFileSync(join(to, name), archive.read(place));
  }
}
