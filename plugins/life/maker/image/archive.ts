import { closeSync, existsSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { storageError } from '@device-core/plugin-api/durable';
import { IMAGE_LIST, IMAGE_SIGNATURE } from '@device-core/plugin-api/inside/image';
import { archiveEnd, member, REPRODUCIBLE } from '@device-core/plugin-api/inside/packages';
import { defineProgram, EXIT, Failure, usage } from '@device-core/plugin-api/program';
import { type ImageSource, invalid, openImage } from './source.ts';
import { unpackArchive } from './unpack-archive.ts';
import { blobOf } from './write.ts';

/**
 * Writes a tar beside its place and moves it there whole, or leaves nothing. List and signatures first: whoever reads
 * it knows at once what it is. Throws a Failure: SYSTEM_IMAGE_INVALID for a blob that is missing, and the codes of a
 * disk.
 */
export function writeArchive(folder: string, file: string): void {
  using source = openImage(folder);
  if (source.kind !== 'folder') throw usage(`${folder} is no image folder`);
  const beside = `${file}.new`;
  rmSync(beside, { force: true });
  const blobs = [...new Set(source.image.files.map(blobOf))].sort();
  const missing = blobs.find((blob) => !existsSync(join(folder, blob)));
  if (missing !== undefined) throw invalid(folder, new Error(`${missing} is missing`));
  try {
    const handle = openSync(beside, 'wx', 0o644);
    try {
      const add = (name: string, bytes: Uint8Array): void => {
        for (const part of member(name, bytes, { ...REPRODUCIBLE, mode: 0o644 })) writeFileSync(handle, part);
      };
      add(IMAGE_LIST, source.list);
      if (existsSync(join(folder, IMAGE_SIGNATURE))) add(IMAGE_SIGNATURE, Buffer.from(source.signatures));
      for (const blob of blobs) add(blob, readFileSync(join(folder, blob)));
      writeFileSync(handle, archiveEnd());
    } finally {
      closeSync(handle);
    }
    renameSync(beside, file);
  } catch (error) {
    rmSync(beside, { force: true });
    const { code, message } = storageError(file, error);
    throw new Failure(EXIT.answered, code, message);
  }
}

/** `devicectl image archive` */
export const program = defineProgram<{ readonly image: string; readonly out: string }>({
  description: 'One file of an image folder, for a stick: a plain tar.',
  params: {
    type: 'object',
    required: ['image', 'out'],
    properties: {
      image: { type: 'string', description: 'folder of an image' },
      out: { type: 'string', description: 'the file; what was there is replaced' },
    },
  },
  cli: { fixed: ['image'], flags: { out: ['out', 'o'] } },
  async run({ out, args }) {
    const file = resolve(args.out);
    writeArchive(args.image, file);
    await out.line(out.json ? JSON.stringify({ ok: true, file }) : `${args.out}: archive of ${args.image}`);
  },
});

/** The folder of an archive, made at `to`; one that is a folder is given back as it is. */
export function asFolder(path: string, { kind }: Pick<ImageSource, 'kind'>, to: string): string {
  if (kind === 'folder') return resolve(path);
  if (kind === 'files') throw usage(`${path} is a slot, not an image`, 'name the folder or the archive of an image');
  unpackArchive(resolve(path), to);
  return to;
}
