/** The list of an image, made of what is to be in it. */
import { createHash } from 'node:crypto';
import { type Image, type ImageFile, imageHash, PIECE, parseImage } from '@device-core/plugin-api/inside/image';

/** One file that is to be in an image. */
export interface Content {
  readonly mode: ImageFile['mode'];
  /** May be asked more than once; always the same. */
  bytes(): Uint8Array;
}

/** Path below the folder of the image -> what lies there. */
export type Contents = ReadonlyMap<string, Content>;
export type ImageFacts = Omit<Image, 'image' | 'files'>;

export interface ImageList {
  readonly image: Image;
  /** As they stand in `image.json`. */
  readonly bytes: Buffer;
  /** `sha256:<hex>` */
  readonly hash: string;
}

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** Throws ImageError for what no device would take. */
export function listOf(contents: Contents, facts: ImageFacts): ImageList {
  const paths = [...contents.keys()].sort();
  const files = paths.map((path) => fileOf(path, contents.get(path)!));
  // A file a line: two lists are compared and patched by lines.
  const head = JSON.stringify({ image: 1, ...facts, files: [] }).slice(0, -2);
  const bytes = Buffer.from(`${head}\n${files.map((file) => JSON.stringify(file)).join(',\n')}\n]}\n`);
  return { image: parseImage(bytes), bytes, hash: imageHash(bytes) };
}

function fileOf(path: string, { mode, bytes }: Content): ImageFile {
  const content = bytes();
  const file = { path, mode, size: content.length, sha256: sha256(content) };
  if (content.length <= PIECE) return file;
  const pieces: string[] = [];
  for (let at = 0; at < content.length; at += PIECE) pieces.push(sha256(content.subarray(at, at + PIECE)));
  return { ...file, pieces };
}
