import { type PanelFrame, PIXEL_BYTES, type PixelFormat } from '../services/panel.ts';

/** What a panel shows, in memory, in its own format. Black at first; the memory is taken when the first frame comes. */
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

  clear(): void {
    this.#pixels = undefined;
  }

  /** Red, green, blue and 255 of each pixel. */
  rgba(): Uint8Array {
    const { pixels } = this;
    const count = this.width * this.height;
    const rgba = new Uint8Array(count * 4);
    for (let pixel = 0; pixel < count; pixel++) {
      const to = pixel * 4;
      if (this.format === 'xrgb8888') {
        rgba[to] = pixels[to + 2]!;
        rgba[to + 1] = pixels[to + 1]!;
        rgba[to + 2] = pixels[to]!;
      } else {
        const value = pixels[pixel * 2]! | (pixels[pixel * 2 + 1]! << 8);
        const [red, green, blue] = [value >> 11, (value >> 5) & 63, value & 31];
        rgba[to] = (red << 3) | (red >> 2);
        rgba[to + 1] = (green << 2) | (green >> 4);
        rgba[to + 2] = (blue << 3) | (blue >> 2);
      }
      rgba[to + 3] = 255;
    }
    return rgba;
  }
}
