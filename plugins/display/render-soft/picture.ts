/** The tree as pixels. It is painted whole, and sent where it differs from the former picture. */

import { intersection, joinRects, type Rect } from '@device-core/plugin-api/scene';
import type { PixelFormat } from '@device-core/plugin-api/services/panel';
import type { SurfaceCost } from '@device-core/plugin-api/services/renderer';
import { Canvas } from './paint/canvas.ts';
import { inkOf } from './paint/ink.ts';
import { type Moment, Painter } from './paint/painter.ts';

/** Side of a square that is sent whole where one of its pixels is another. */
const TILE = 8;

export class Picture {
  readonly canvas: Canvas;
  /** Monotonic milliseconds at which it looks different by itself. */
  next = Number.POSITIVE_INFINITY;
  readonly #sent: Uint32Array;
  #boxes: readonly (readonly [id: string, box: Rect])[] = [];
  #costs = new Map<string, SurfaceCost>();

  constructor({ width, height }: { readonly width: number; readonly height: number }) {
    this.canvas = new Canvas(width, height);
    this.#sent = new Uint32Array(width * height);
  }

  paint(moment: Moment): void {
    const { canvas } = this;
    const painter = new Painter(canvas, moment);
    const seen = moment.tree.surfaces.filter(({ hidden }) => !hidden);
    const lowest = seen.findLastIndex((surface) => painter.covers(surface, canvas.whole));
    const { theme } = moment.tree.surroundings;
    if (lowest < 0) canvas.fillBox(0, 0, canvas.width, canvas.height, inkOf(theme, '@background'));
    const painted = seen.slice(Math.max(0, lowest));
    for (const surface of painted) {
      const began = performance.now();
      painter.paint(surface);
      this.#spend(surface.id, performance.now() - began, 0);
    }
    this.#boxes = painted.map((surface) => [surface.id, painter.boxOf(surface)]);
    this.next = painter.next;
  }

  /** Areas that differ from what was taken before; from now on they are what the panel has. */
  take(whole: boolean): readonly Rect[] {
    const { canvas } = this;
    const rects = whole ? [canvas.whole] : joinRects(differences(canvas, this.#sent));
    if (rects.length > 0) this.#sent.set(canvas.pixels);
    for (const [id, box] of this.#boxes) if (rects.some((rect) => intersection(rect, box).w > 0)) this.#spend(id, 0, 1);
    return rects;
  }

  costs(): readonly SurfaceCost[] {
    const costs = [...this.#costs.values()];
    this.#costs = new Map();
    return costs;
  }

  #spend(surface: string, ms: number, more: number): void {
    const { cpuMs, frames } = this.#costs.get(surface) ?? { cpuMs: 0, frames: 0 };
    this.#costs.set(surface, { surface, cpuMs: cpuMs + ms, frames: frames + more });
  }
}

/** Runs of tiles with a pixel that is another. */
function differences({ width, height, pixels }: Canvas, before: Uint32Array): readonly Rect[] {
  const rects: Rect[] = [];
  const columns = Math.ceil(width / TILE);
  for (let top = 0; top < height; top += TILE) {
    const changed = new Uint8Array(columns);
    const end = Math.min(height, top + TILE);
    for (let row = top; row < end; row++) {
      const [from, to] = [row * width, (row + 1) * width];
      if (Buffer.compare(bytesOf(pixels, from, to), bytesOf(before, from, to)) === 0) continue;
      for (let at = from; at < to; at++) if (pixels[at] !== before[at]) changed[Math.floor((at - from) / TILE)] = 1;
    }
    for (let first = changed.indexOf(1); first >= 0; ) {
      const stop = changed.indexOf(0, first);
      const last = stop < 0 ? columns : stop;
      const x = first * TILE;
      rects.push({ x, y: top, w: Math.min(width, last * TILE) - x, h: end - top });
      first = changed.indexOf(1, last);
    }
  }
  return stacked(rects);
}

const bytesOf = (pixels: Uint32Array, from: number, to: number): Uint8Array =>
  new Uint8Array(pixels.buffer, from * 4, (to - from) * 4);

/** Runs of the same width below each other as one. */
function stacked(runs: readonly Rect[]): readonly Rect[] {
  const rects = new Map<string, Rect>();
  for (const run of runs) {
    const above = rects.get(`${run.x} ${run.w} ${run.y}`);
    if (above) rects.delete(`${run.x} ${run.w} ${run.y}`);
    const rect = above ? { ...run, y: above.y, h: above.h + run.h } : run;
    rects.set(`${run.x} ${run.w} ${rect.y + rect.h}`, rect);
  }
  return [...rects.values()];
}

/** Rows of the rectangles in the format of a panel. */
export function pixelsOf(canvas: Canvas, rects: readonly Rect[], format: PixelFormat, light: number): Uint8Array {
  const count = rects.reduce((sum, { w, h }) => sum + w * h, 0);
  const out = format === 'rgb565' ? new Uint16Array(count) : new Uint32Array(count);
  let to = 0;
  for (const { x, y, w, h } of rects)
    for (let row = y; row < y + h; row++) {
      const line = canvas.pixels.subarray(row * canvas.width + x, row * canvas.width + x + w);
      out.set(light < 1 ? line.map((value) => dim(value, light)) : line, to);
      if (format === 'rgb565') for (let at = 0; at < w; at++) out[to + at] = shortened(dim(line[at]!, light));
      to += w;
    }
  return new Uint8Array(out.buffer);
}

const dim = (value: number, light: number): number =>
  (Math.round((value >> 16) * light) << 16) |
  (Math.round(((value >> 8) & 255) * light) << 8) |
  Math.round((value & 255) * light);

const shortened = (value: number): number =>
  (Math.round(((value >> 16) * 31) / 255) << 11) |
  (Math.round((((value >> 8) & 255) * 63) / 255) << 5) |
  Math.round(((value & 255) * 31) / 255);
