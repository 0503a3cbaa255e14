import type { Mask } from './raster.ts';

/** Three boxes of these widths look like a bell of this deviation (as SVG's feGaussianBlur does it). */
function boxes(deviation: number): readonly number[] {
  const ideal = Math.sqrt((12 * deviation * deviation) / 3 + 1);
  const low = Math.floor(ideal) - (Math.floor(ideal) % 2 === 0 ? 1 : 0);
  const many = Math.round((12 * deviation * deviation - 3 * low * low - 12 * low - 9) / (-4 * low - 4));
  return [0, 1, 2].map((index) => (index < many ? low : low + 2));
}

/** Pixels around a shape that its shadow reaches. */
export const spreadOf = (deviation: number): number =>
  deviation <= 0 ? 0 : boxes(deviation).reduce((sum, box) => sum + (box - 1) / 2, 0) + 1;

/** The mask, softened; larger by its spread on each side. */
export function blurred(mask: Mask, deviation: number): Mask {
  if (deviation <= 0) return mask;
  const spread = spreadOf(deviation);
  const [w, h] = [mask.w + 2 * spread, mask.h + 2 * spread];
  let cover = new Uint8Array(w * h);
  for (let row = 0; row < mask.h; row++)
    cover.set(mask.cover.subarray(row * mask.w, (row + 1) * mask.w), (row + spread) * w + spread);
  let other = new Uint8Array(w * h);
  for (const box of boxes(deviation)) {
    softened(cover, other, { count: h, length: w, step: 1, next: w }, box);
    [cover, other] = [other, cover];
    softened(cover, other, { count: w, length: h, step: w, next: 1 }, box);
    [cover, other] = [other, cover];
  }
  return { x: mask.x - spread, y: mask.y - spread, w, h, cover };
}

interface Lines {
  readonly count: number;
  readonly length: number;
  /** From a pixel to the next of its line, and from a line to the next. */
  readonly step: number;
  readonly next: number;
}

function softened(from: Uint8Array, to: Uint8Array, { count, length, step, next }: Lines, box: number): void {
  const half = (box - 1) / 2;
  const share = 1 / box;
  for (let line = 0; line < count; line++) {
    const base = line * next;
    let sum = 0;
    for (let at = 0; at < Math.min(half, length); at++) sum += from[base + at * step]!;
    for (let at = 0; at < length; at++) {
      if (at + half < length) sum += from[base + (at + half) * step]!;
      to[base + at * step] = sum * share + 0.5;
      if (at - half >= 0) sum -= from[base + (at - half) * step]!;
    }
  }
}
