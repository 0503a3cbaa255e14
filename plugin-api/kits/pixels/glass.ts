import type { Rect } from '../../scene/rect.ts';
import { type PanelFrame, PIXEL_BYTES, type PixelFormat } from '../../services/panel.ts';

/** Picture of a panel in memory, in its format. Black at first; the memory is taken when the first frame comes. */
export class Glass {
  readonly width: number;
  readonly height: number;
  readonly format: PixelFormat;
  #pixels: Uint8Array | undefined;

  constructor({
    width,
    height,
    format,
  }: { readonly width: number; readonly height: number; readonly format: PixelFormat }) {
    this.width = width;
    this.height = height;
    this.format = format;
  }

  /** Rows from the top, without gaps. */
  get pixels(): Uint8Array {
    this.#pixels ??= new Uint8Array(this.width * this.height * PIXEL_BYTES[this.format]);
    return this.#pixels;
  }

  /** A frame that `checkFrame` has passed. */
  put({ rects, pixels }: PanelFrame): void {
    const bytes = PIXEL_BYTES[this.format];
    const memory = this.pixels;
    let from = 0;
    for (const { x, y, w, h } of rects)
      for (let row = y; row < y + h; row++) {
        memory.set(pixels.subarray(from, from + w * bytes), (row * this.width + x) * bytes);
        from += w * bytes;
      }
  }

  /** Rows of each rectangle, as a frame has them: a copy. */
  read(rects: readonly Rect[]): Uint8Array {
    const bytes = PIXEL_BYTES[this.format];
    const memory = this.pixels;
    const out = new Uint8Array(rects.reduce((sum, { w, h }) => sum + w * h, 0) * bytes);
    let to = 0;
    for (const { x, y, w, h } of rects)
      for (let row = y; row < y + h; row++) {
        const from = (row * this.width + x) * bytes;
        out.set(memory.subarray(from, from + w * bytes), to);
        to += w * bytes;
      }
    return out;
  }

  clear(): void {
    this.#pixels = undefined;
  }

  /** Red, green, blue and 255 of each pixel. */
  rgba(): Uint8Array {
    const { pixels, width, height } = this;
    const count = width * height;
    const rgba = new Uint8Array(count * 4);
    const out = new Uint32Array(rgba.buffer);
    if (this.format === 'xrgb8888') {
      const words = new Uint32Array(pixels.buffer, pixels.byteOffset, count);
      for (let at = 0; at < count; at++) {
        const value = words[at]!;
        out[at] = 0xff000000 | ((value & 0xff) << 16) | (value & 0xff00) | ((value >>> 16) & 0xff);
      }
      return rgba;
    }
    const words = new Uint16Array(pixels.buffer, pixels.byteOffset, count);
    for (let at = 0; at < count; at++) {
      const value = words[at]!;
      const red = value >> 11;
      const green = (value >> 5) & 63;
      const blue = value & 31;
      out[at] =
        0xff000000 |
        (((blue << 3) | (blue >> 2)) << 16) |
        (((green << 2) | (green >> 4)) << 8) |
        ((red << 3) | (red >> 2));
    }
    return rgba;
  }
}
