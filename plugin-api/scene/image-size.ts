/** Type and size of a picture, read from its header before it is decoded. */
import { CoreError } from '../contract/errors.ts';

export interface ImageHeader {
  readonly type: 'png' | 'jpeg' | 'webp';
  /** Pixels. */
  readonly width: number;
  readonly height: number;
}

export const IMAGE_LIMITS = { bytes: 4 * 1024 * 1024, side: 2_048 } as const;

/** Type and size of a PNG, JPEG or WebP that is whole. Throws IMAGE_INVALID {image, reason}: another type, animated, cut off, too large. */
export function imageSize(bytes: Uint8Array, name: string): ImageHeader {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const read =
    bytes.length > IMAGE_LIMITS.bytes
      ? `it has ${bytes.length} bytes, ${IMAGE_LIMITS.bytes} are the limit`
      : header(view);
  const reason = typeof read === 'string' ? read : sizeProblem(read);
  if (reason !== undefined) throw new CoreError('IMAGE_INVALID', { image: name, reason });
  return read as ImageHeader;
}

function sizeProblem({ width, height }: ImageHeader): string | undefined {
  if (width === 0 || height === 0) return 'it has no size';
  if (Math.max(width, height) <= IMAGE_LIMITS.side) return undefined;
  return `it is ${width} x ${height}, ${IMAGE_LIMITS.side} x ${IMAGE_LIMITS.side} are the limit`;
}

function header(view: DataView): ImageHeader | string {
  try {
    if (tag(view, 1, 3) === 'PNG' && view.getUint32(0) === 0x89504e47) return png(view);
    if (view.getUint16(0) === 0xffd8) return jpeg(view);
    if (tag(view, 0, 4) === 'RIFF' && tag(view, 8, 4) === 'WEBP') return webp(view);
    if (tag(view, 0, 3) === 'GIF') return 'a GIF is not taken: PNG, JPEG or WebP is';
    if (/^\s*</.test(tag(view, 0, 16))) return 'SVG is not taken: vectors are path nodes of a scene';
    return 'it is neither PNG, JPEG nor WebP';
  } catch (error) {
    if (error instanceof RangeError) return 'it is cut off';
    throw error;
  }
}

const tag = (view: DataView, at: number, length: number): string =>
  String.fromCharCode(
    ...new Uint8Array(view.buffer, view.byteOffset + at, Math.min(length, Math.max(0, view.byteLength - at))),
  );

/** Chunks one after the other up to IEND. */
function png(view: DataView): ImageHeader | string {
  if (tag(view, 12, 4) !== 'IHDR') return 'its header is missing';
  const found: ImageHeader = { type: 'png', width: view.getUint32(16), height: view.getUint32(20) };
  for (let at = 8; ; ) {
    const length = view.getUint32(at);
    const kind = tag(view, at + 4, 4);
    if (kind === 'acTL') return 'it is animated';
    // The last byte of the checksum: a chunk that ends outside throws.
    view.getUint8(at + 11 + length);
    if (kind === 'IEND') return found;
    at += 12 + length;
  }
}

/** Markers up to the frame header; the end mark must stand at the end. */
function jpeg(view: DataView): ImageHeader | string {
  let end = view.byteLength;
  while (end > 2 && view.getUint8(end - 1) === 0) end -= 1;
  if (view.getUint16(end - 2) !== 0xffd9) return 'it is cut off';
  for (let at = 2; ; ) {
    if (view.getUint8(at) !== 0xff) return 'its segments do not follow each other';
    const marker = view.getUint8(at + 1);
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    if (marker === 0xda || marker === 0xd9) return 'it says nothing of its size';
    // Start of frame, but not the tables that stand among those numbers.
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      return { type: 'jpeg', height: view.getUint16(at + 5), width: view.getUint16(at + 7) };
    const length = view.getUint16(at + 2);
    if (length < 2) return 'a segment has no length';
    at += 2 + length;
  }
}

function webp(view: DataView): ImageHeader | string {
  if (view.getUint32(4, true) + 8 > view.byteLength) return 'it is cut off';
  const kind = tag(view, 12, 4);
  if (kind === 'VP8 ')
    return { type: 'webp', width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff };
  if (kind === 'VP8L') {
    const bits = view.getUint32(21, true);
    return { type: 'webp', width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
  }
  if (kind !== 'VP8X') return 'it is a WebP of no known kind';
  if ((view.getUint8(20) & 2) !== 0) return 'it is animated';
  const three = (at: number): number => view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
  return { type: 'webp', width: three(24) + 1, height: three(27) + 1 };
}
