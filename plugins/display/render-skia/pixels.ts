/** From the canvas to the panel: 16 bits with ordered dither, or 32 bits. */

import type { Rect } from '@device-core/plugin-api/scene';
import { PIXEL_BYTES, type PixelFormat } from '@device-core/plugin-api/services/panel';

/** Thresholds of 4 x 4 pixels, none of which is 0 or 1: what a panel can show exactly stays as it is. */
const BAYER = [0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5];

/**
 * By place in the 4 x 4 pixels and value, the bits of the channel where the panel has them. A picture's place decides,
 * and not what was there before.
 */
function table(most: number, shift: number): Uint16Array {
  const bits = new Uint16Array(16 * 256);
  for (let place = 0; place < 16; place += 1)
    for (let value = 0; value < 256; value += 1)
      bits[place * 256 + value] = Math.floor((value * most) / 255 + (BAYER[place]! + 0.5) / 16) << shift;
  return bits;
}

interface Tables {
  readonly red: Uint16Array;
  readonly green: Uint16Array;
  readonly blue: Uint16Array;
}
let tables: Tables | undefined;

/** Writes a rectangle of the canvas, whose corner is at x, y of the panel, to `out` from `at`. `rgba` has its rows without gaps. */
export function convert(rgba: Uint8ClampedArray, rect: Rect, format: PixelFormat, out: Uint8Array, at: number): void {
  const { w, h } = rect;
  const pixels = new Uint32Array(rgba.buffer, rgba.byteOffset, w * h);
  if (format === 'rgb565') toRgb565(pixels, rect, new Uint16Array(out.buffer, out.byteOffset + at, w * h));
  else toXrgb8888(pixels, new Uint32Array(out.buffer, out.byteOffset + at, w * h));
}

function toRgb565(pixels: Uint32Array, { x, y, w, h }: Rect, out: Uint16Array): void {
  tables ??= { red: table(31, 11), green: table(63, 5), blue: table(31, 0) };
  const { red, green, blue } = tables;
  for (let row = 0, index = 0; row < h; row += 1) {
    const line = ((y + row) & 3) << 10;
    for (let column = x; column < x + w; column += 1, index += 1) {
      const place = line | ((column & 3) << 8);
      const value = pixels[index]!;
      out[index] =
        red[place | (value & 255)]! | green[place | ((value >>> 8) & 255)]! | blue[place | ((value >>> 16) & 255)]!;
    }
  }
}

function toXrgb8888(pixels: Uint32Array, out: Uint32Array): void {
  for (let index = 0; index < out.length; index += 1) {
    const value = pixels[index]!;
    out[index] = (value & 0x00ff00) | ((value & 255) << 16) | ((value >>> 16) & 255);
  }
}

/** Bytes of pixels, on a border that both formats can be written at. */
export const bytesOf = (pixels: number, format: PixelFormat): number => pixels * PIXEL_BYTES[format];
