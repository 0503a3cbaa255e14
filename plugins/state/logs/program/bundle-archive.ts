import { promisify } from 'node:util';
import { zstdCompress } from 'node:zlib';
import { Header } from 'tar';

const BLOCK = 512;

export interface BundleFile {
  readonly name: string;
  readonly text: string;
}

/** A tar of these files, packed with zstd. */
export async function packed(files: readonly BundleFile[], now: number): Promise<Buffer> {
  const blocks = files.flatMap(({ name, text }) => {
    const bytes = Buffer.from(text, 'utf8');
    const head = Buffer.alloc(BLOCK);
    const header = new Header({ path: name, size: bytes.length, mode: 0o600, mtime: new Date(now), type: 'File' });
    header.encode(head);
    return [head, bytes, Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK)];
  });
  return promisify(zstdCompress)(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]));
}
