import { promisify } from 'node:util';
import { zstdCompress } from 'node:zlib';
import { archiveEnd, member } from '@device-core/plugin-api/inside/packages';

export interface BundleFile {
  readonly name: string;
  readonly text: string;
}

/** A tar of these files, packed with zstd. */
export async function packed(files: readonly BundleFile[], now: number): Promise<Buffer> {
  const fields = { mode: 0o600, mtime: new Date(now) };
  const members = files.flatMap(({ name, text }) => member(name, Buffer.from(text, 'utf8'), fields));
  return promisify(zstdCompress)(Buffer.concat([...members, archiveEnd()]));
}
