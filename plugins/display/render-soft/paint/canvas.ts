/** The picture: opaque pixels 0xRRGGBB, painted within a clip. */
import { intersection, type Rect } from '@device-core/plugin-api/scene';
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
    this.clip = { x: 0, y: 0, w: width, h: height };
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
    for (let row = Math.max(clip.y, Math.floor(y)); row < last; row++) {
      const high = Math.min(row + 1, bottom) - Math.max(row, y);
      // Whole pixels between the first and the last, which may be covered in part.
      const [from, to] = [Math.max(left, Math.ceil(x)), Math.min(end, Math.floor(right))];
      if (to > from) this.#run(row, from, to, high, ink);
      if (left < from && left < end) this.#run(row, left, left + 1, high * (Math.min(left + 1, right) - x), ink);
      if (end > to && end - 1 >= Math.max(from, left))
        this.#run(row, end - 1, end, high * (right - Math.max(end - 1, x)), ink);
    }
  }

  fillMask(mask: Mask, ink: Ink): void {
    const area = intersection(mask, this.clip);
    if (area.w === 0 || area.h === 0) return;
    const { pixels, width } = this;
    const strength = ink.kind === 'solid' ? ink.alpha + (ink.alpha >> 7) : 0;
    for (let row = area.y; row < area.y + area.h; row++) {
      let from = (row - mask.y) * mask.w + area.x - mask.x;
      let to = row * width + area.x;
      if (ink.kind === 'solid') {
        const { rgb } = ink;
        const [rb, g] = [rgb & 0xff00ff, rgb & 0x00ff00];
        for (const end = to + area.w; to < end; to++, from++) {
          const cover = mask.cover[from]!;
          if (cover === 0) continue;
          const share = cover === 255 ? strength : ((cover + (cover >> 7)) * strength) >> 8;
          if (share === 256) pixels[to] = rgb;
          else pixels[to] = mixed(pixels[to]!, rb, g, share);
        }
      } else
        for (let x = area.x; x < area.x + area.w; x++, to++, from++) {
          const cover = mask.cover[from]!;
          if (cover === 0) continue;
          const place = ink.at(x, row);
          const alpha = ink.alpha[place]!;
          const rgb = ink.rgb[place]!;
          const share = ((cover + (cover >> 7)) * (alpha + (alpha >> 7))) >> 8;
          pixels[to] = mixed(pixels[to]!, rgb & 0xff00ff, rgb & 0x00ff00, share);
        }
    }
  }

  /** Paints within `rect`, then keeps as much as `share` (0..1) or the mask says: for translucent groups, and round clips. */
  through(rect: Rect, share: number | ((area: Rect) => Mask), paint: () => void): void {
    this.within(rect, () => {
      const area = this.clip;
      const before = this.#copy(area);
      paint();
      const mask = typeof share === 'number' ? undefined : share(area);
      const even = typeof share === 'number' ? Math.round(share * 256) : 256;
      const { pixels, width } = this;
      for (let row = 0, from = 0; row < area.h; row++)
        for (let to = (area.y + row) * width + area.x, x = area.x; x < area.x + area.w; x++, to++, from++) {
          const part = mask ? coverAt(mask, x, area.y + row) : even;
          const now = pixels[to]!;
          if (part !== 256) pixels[to] = mixed(before[from]!, now & 0xff00ff, now & 0x00ff00, part);
        }
    });
  }

  #copy({ x, y, w, h }: Rect): Uint32Array {
    const copy = new Uint32Array(w * h);
    for (let row = 0; row < h; row++) {
      const from = (y + row) * this.width + x;
      copy.set(this.pixels.subarray(from, from + w), row * w);
    }
    return copy;
  }

  /** Pixels of one row, all covered alike. */
  #run(row: number, from: number, to: number, cover: number, ink: Ink): void {
    const { pixels, width } = this;
    const share = Math.round(Math.max(0, Math.min(1, cover)) * 256);
    let at = row * width + from;
    if (ink.kind === 'solid') {
      const strength = (share * (ink.alpha + (ink.alpha >> 7))) >> 8;
      if (strength === 256) pixels.fill(ink.rgb, at, at + to - from);
      else if (strength > 0) {
        const [rb, g] = [ink.rgb & 0xff00ff, ink.rgb & 0x00ff00];
        for (const end = at + to - from; at < end; at++) pixels[at] = mixed(pixels[at]!, rb, g, strength);
      }
      return;
    }
    if (ink.level) {
      const place = ink.at(from, row);
      this.#run(row, from, to, cover, { kind: 'solid', rgb: ink.rgb[place]!, alpha: ink.alpha[place]! });
      return;
    }
    for (let x = from; x < to; x++, at++) {
      const place = ink.at(x, row);
      const alpha = ink.alpha[place]!;
      const rgb = ink.rgb[place]!;
      pixels[at] = mixed(pixels[at]!, rgb & 0xff00ff, rgb & 0x00ff00, (share * (alpha + (alpha >> 7))) >> 8);
    }
  }
}

/** `share` of 256 of a colour, given as its red with blue and its green, over `under`. */
function mixed(under: number, rb: number, g: number, share: number): number {
  const [underRb, underG] = [under & 0xff00ff, under & 0x00ff00];
  return (
    ((underRb + (Math.imul(rb - underRb, share) >> 8)) & 0xff00ff) |
    ((underG + (Math.imul(g - underG, share) >> 8)) & 0x00ff00)
  );
}

function coverAt(mask: Mask, x: number, y: number): number {
  const [column, row] = [x - mask.x, y - mask.y];
  if (column < 0 || row < 0 || column >= mask.w || row >= mask.h) return 0;
  const cover = mask.cover[row * mask.w + column]!;
  return cover + (cover >> 7);
}
