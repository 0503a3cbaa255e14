/** PNG of 8 bits a channel that is not interlaced, decoded without a package. */
import { promisify } from 'node:util';
import { inflate } from 'node:zlib';
import { CoreError } from '@device-core/plugin-api';
import { imageSize } from '@device-core/plugin-api/scene';

export interface Bitmap {
  readonly width: number;
  readonly height: number;
  /** Not premultiplied. */
  readonly rgba: Uint8Array;
}

/** Channels by type of colour: grey, colours, an index of the palette, grey and alpha, colours and alpha. */
const CHANNELS: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };
/** Larger pictures would hold the thread of the Core up. */
const MOST_PIXELS = 1 << 19;

const unpacked = promisify(inflate);

/** Undefined for a picture that is none of these, or too large. Throws IMAGE_INVALID for one that is broken. */
export async function decodePng(bytes: Uint8Array, name: string): Promise<Bitmap | undefined> {
  const { type, width, height } = imageSize(bytes, name);
  if (type !== 'png' || width * height > MOST_PIXELS) return undefined;
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const data: Buffer[] = [];
  let [palette, clear]: Uint8Array[] = [];
  for (let at = 8; at + 12 <= file.length; at += file.readUInt32BE(at) + 12) {
    const kind = file.toString('latin1', at + 4, at + 8);
    const body = file.subarray(at + 8, at + 8 + file.readUInt32BE(at));
    if (kind === 'IDAT') data.push(body);
    if (kind === 'PLTE') palette = body;
    if (kind === 'tRNS') clear = body;
  }
  const [bits, colour, interlaced] = [file[24], file[25]!, file[28]];
  const channels = CHANNELS[colour];
  if (bits !== 8 || channels === undefined || interlaced !== 0) return undefined;
  const stride = width * channels;
  const wrong = (reason: string) => new CoreError('IMAGE_INVALID', { image: name, reason });
  const raw = await unpacked(Buffer.concat(data), { maxOutputLength: (stride + 1) * height }).catch(
    (cause: unknown) => {
      throw wrong(`its data cannot be unpacked: ${cause instanceof Error ? cause.message : String(cause)}`);
    },
  );
  if (raw.length < (stride + 1) * height) throw wrong('it is cut off');
  const rows = unfiltered(raw, stride, height, channels);
  if (!rows) throw wrong('a row has a filter that does not exist');
  const rgba = new Uint8Array(width * height * 4);
  for (let pixel = 0; pixel < width * height; pixel++) {
    const from = pixel * channels;
    const first = rows[from]!;
    const index = first * 3;
    const [red, green, blue, alpha] =
      colour === 3
        ? [palette?.[index] ?? 0, palette?.[index + 1] ?? 0, palette?.[index + 2] ?? 0, clear?.[first] ?? 255]
        : channels < 3
          ? [first, first, first, channels === 2 ? rows[from + 1]! : 255]
          : [first, rows[from + 1]!, rows[from + 2]!, channels === 4 ? rows[from + 3]! : 255];
    rgba.set([red, green, blue, alpha], pixel * 4);
  }
  return { width, height, rgba };
}

/** Rows without their filters; undefined for an unknown one. */
function unfiltered(raw: Buffer, stride: number, height: number, step: number): Uint8Array | undefined {
  const out = new Uint8Array(stride * height);
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (stride + 1)]!;
    if (filter > 4) return undefined;
    for (let x = 0, at = y * stride; x < stride; x++, at++) {
      const left = x < step ? 0 : out[at - step]!;
      const up = y === 0 ? 0 : out[at - stride]!;
      const corner = x < step || y === 0 ? 0 : out[at - stride - step]!;
      out[at] = raw[at + y + 1]! + foretold(filter, left, up, corner);
    }
  }
  return out;
}

function foretold(filter: number, left: number, up: number, corner: number): number {
  if (filter === 0) return 0;
  if (filter === 1) return left;
  if (filter === 2) return up;
  if (filter === 3) return (left + up) >> 1;
  const [a, b, c] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}
