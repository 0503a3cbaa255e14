/** Archives that npm would never write, made header by header. */
import { writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { Header } from 'tar';

export interface Member {
  readonly path: string;
  readonly type?: string;
  readonly text?: string;
  readonly mode?: number;
  readonly linkpath?: string;
  /** Instead of the length of the text. */
  readonly size?: number;
}

/** Raw blocks of an archive. */
export function archive(members: readonly Member[]): Buffer {
  const blocks: Buffer[] = [];
  for (const { path, type = 'File', text = '', mode = 0o644, linkpath, size } of members) {
    const body = Buffer.from(text);
    const head = Buffer.alloc(512);
    const fields = {
      path,
      type,
      mode,
      size: size ?? body.length,
      mtime: new Date(0),
      ...(linkpath ? { linkpath } : {}),
    };
    new Header(fields as never).encode(head, 0);
    blocks.push(head, body, Buffer.alloc((512 - (body.length % 512)) % 512));
  }
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

export function writeTarball(file: string, members: readonly Member[]): string {
  writeFileSync(file, gzipSync(archive(members)));
  return file;
}
