/** What a screenshot of the machine has to be after frames of `painted`. */
import type { Rect } from '@device-core/plugin-api/scene';
import type { PixelFormat } from '@device-core/plugin-api/services/panel';
import { painted } from '../contracts/panel.ts';
import type { Screenshot } from './machine.ts';

export class Picture {
  readonly width: number;
  readonly height: number;
  readonly format: PixelFormat;
  readonly rgb: Uint8Array;

  constructor(info: { readonly width: number; readonly height: number; readonly format: PixelFormat }) {
    this.width = info.width;
    this.height = info.height;
    this.format = info.format;
    this.rgb = new Uint8Array(info.width * info.height * 3);
  }

  put(rect: Rect, seed: number): void {
    const pixels = painted(rect, this.format, seed);
    for (let index = 0; index < rect.w * rect.h; index++) {
      const [x, y] = [rect.x + (index % rect.w), rect.y + Math.floor(index / rect.w)];
      this.rgb.set(this.#colour(pixels, index), (y * this.width + x) * 3);
    }
  }

  /** Pixels that are not the same. */
  differs({ width, height, rgb }: Screenshot): number {
    if (width !== this.width || height !== this.height) return Number.POSITIVE_INFINITY;
    let count = 0;
    for (let at = 0; at < this.rgb.length; at += 3)
      if (rgb[at] !== this.rgb[at] || rgb[at + 1] !== this.rgb[at + 1] || rgb[at + 2] !== this.rgb[at + 2]) count++;
    return count;
  }

  #colour(pixels: Uint8Array, index: number): readonly [number, number, number] {
    if (this.format === 'xrgb8888') return [pixels[4 * index + 2]!, pixels[4 * index + 1]!, pixels[4 * index]!];
    const value = pixels[2 * index]! | (pixels[2 * index + 1]! << 8);
    const [red, green, blue] = [value >> 11, (value >> 5) & 63, value & 31];
    return [(red << 3) | (red >> 2), (green << 2) | (green >> 4), (blue << 3) | (blue >> 2)];
  }
}
