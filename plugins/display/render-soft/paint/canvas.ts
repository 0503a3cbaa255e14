/** The picture: opaque pixels 0xRRGGBB, painted within a clip. */
import { intersection, type Rect } from '@device-core/plugin-api/scene';
import type { Bitmap } from '../png.ts';
import type { Ink } from './ink.ts';
import type { Mask } from './raster.ts';

export class Canvas {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint32Array;
  clip: Rect;

  constructor(width: number, height: number) {
    this.width = width;
    this.height = height;
    this.pixels = new Uint32Array(width * height);
    this.clip = this.whole;
  }

  get whole(): Rect {
    return { x: 0, y: 0, w: this.width, h: this.height };
  }

  /** Paints with a smaller clip; not at all where nothing is left of it. */
  within(rect: Rect, paint: () => void): void {
    const before = this.clip;
    const clip = intersection(before, rect);
    if (clip.w === 0 || clip.h === 0) return;
    this.clip = clip;
    paint();
    this.clip = before;
  }

  /** A box of any place and size: its edges cover pixels in part. */
  fillBox(x: number, y: number, w: number, h: number, ink: Ink): void {
    const { clip } = this;
    const [right, bottom] = [x + w, y + h];
    const [left, end] = [Math.max(clip.x, Math.floor(x)), Math.min(clip.x + clip.w, Math.ceil(right))];
    const last = Math.min(clip.y + clip.h, Math.ceil(bottom));
    // Whole pixels between the first and the last, which may be covered in part.
    const [from, to] = [Math.max(left, Math.ceil(x)), Math.min(end, Math.floor(right))];
    for (let row = Math.max(clip.y, Math.floor(y)); row < last; row++) {
      const high = Math.min(row + 1, bottom) - Math.max(row, y);
      if (to > from) this.#run(row, from, to, high, ink);
      if (left < from && left < end) this.#run(row, left, left + 1, high * (Math.min(left + 1, right) - x), ink);
      if (end > to && end - 1 >= Math.max(from, left))
        this.#run(row, end - 1, end, high * (right - Math.max(end - 1, x)), ink);
    }
  }

  fillMask(mask: Mask, { rgb, alpha }: Ink): void {
    const area = intersection(mask, this.clip);
    const { pixels, width } = this;
    const strength = alpha + (alpha >> 7);
    for (let row = area.y; row < area.y + area.h; row++) {
      let from = (row - mask.y) * mask.w + area.x - mask.x;
      let to = row * width + area.x;
      for (const end = to + area.w; to < end; to++, from++) {
        const cover = mask.cover[from]!;
        const share = cover === 255 ? strength : ((cover + (cover >> 7)) * strength) >> 8;
        if (share > 0) pixels[to] = share === 256 ? rgb : mixed(pixels[to]!, rgb, share);
      }
    }
  }

  /** `part` of the bitmap in the box: of each pixel of the box the nearest one. */
  putBitmap({ width, rgba }: Bitmap, part: Rect, box: Rect, opacity: number): void {
    const area = intersection(roundedOut(box), this.clip);
    const [perX, perY] = [part.w / box.w, part.h / box.h];
    const near = (at: number, start: number, size: number) =>
      Math.floor(start + Math.max(0, Math.min(size - 0.001, at)));
    for (let y = area.y; y < area.y + area.h; y++) {
      const row = near((y + 0.5 - box.y) * perY, part.y, part.h) * width;
      for (let x = area.x; x < area.x + area.w; x++) {
        const from = (row + near((x + 0.5 - box.x) * perX, part.x, part.w)) * 4;
        const rgb = (rgba[from]! << 16) | (rgba[from + 1]! << 8) | rgba[from + 2]!;
        const to = y * this.width + x;
        this.pixels[to] = mixed(this.pixels[to]!, rgb, Math.round((rgba[from + 3]! * opacity * 256) / 255));
      }
    }
  }

  /** Pixels of one row, all covered alike. */
  #run(row: number, from: number, to: number, cover: number, { rgb, alpha }: Ink): void {
    const { pixels, width } = this;
    const share = (Math.round(Math.max(0, Math.min(1, cover)) * 256) * (alpha + (alpha >> 7))) >> 8;
    const [first, end] = [row * width + from, row * width + to];
    if (share === 256) pixels.fill(rgb, first, end);
    else if (share > 0) for (let at = first; at < end; at++) pixels[at] = mixed(pixels[at]!, rgb, share);
  }
}

/** `share` of 256 of a colour over another. */
function mixed(under: number, over: number, share: number): number {
  const [underRb, underG] = [under & 0xff00ff, under & 0x00ff00];
  return (
    ((underRb + (Math.imul((over & 0xff00ff) - underRb, share) >> 8)) & 0xff00ff) |
    ((underG + (Math.imul((over & 0x00ff00) - underG, share) >> 8)) & 0x00ff00)
  );
}

/** The least rectangle of whole pixels around it. */
export function roundedOut({ x, y, w, h }: Rect): Rect {
  const [left, top] = [Math.floor(x), Math.floor(y)];
  return { x: left, y: top, w: Math.ceil(x + w) - left, h: Math.ceil(y + h) - top };
}
