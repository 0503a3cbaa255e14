import { closeSync, mkdirSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ImageError } from '@device-core/plugin-api/image';
import { openTar, readTar } from './tar.ts';
import { BLOBS } from './write.ts';

const NAMES = /^(image\.json|image\.sig|blobs\/[0-9a-f]{64}\.zst)$/;

/** The folder that an archive was made of. Throws for a name that no image has. */
export function unpackArchive(file: string, to: string): void {
  const handle = openTar(file);
  try {
    mkdirSync(join(to, BLOBS), { recursive: true });
    for (const [name, { at, size }] of readTar(handle)) {
      if (!NAMES.test(name)) throw new ImageError('file', 'no image has such a file', name);
      const bytes = Buffer.alloc(size);
      readSync(handle, bytes, 0, size, at);
      writeFileSync(join(to, name), bytes);
    }
  } finally {
    closeSync(handle);
  }
}
