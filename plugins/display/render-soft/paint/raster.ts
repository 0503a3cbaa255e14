/**
 * Coverage of areas by their outlines, exact per pixel: each edge adds the area to its right into the pixels that it
 * crosses, and a sum along the row makes coverage of it (as in the font rasteriser of Raph Levien's font-rs). Outlines
 * that wind the same way add up; the other way they cut out.
 */
import { intersection, type Rect } from '@device-core/plugin-api/scene';
import type { Matrix } from './matrix.ts';

/** Shares of a pixel that is covered, 0..255, row by row. */
export interface Mask {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
  readonly cover: Uint8Array;
}

/** A polygon of x, y, x, y ..., closed. */
export type Polygon = readonly number[];

/** Further from a curve than this many pixels no line may be. */
const FLAT = 0.15;

/** Collects outlines in pixels. */
export class Outline {
  readonly polygons: number[][] = [];
  /** Which of them were closed: a line along them has no ends there. */
  readonly closed = new Set<Polygon>();
  readonly #matrix: Matrix;
  #current: number[] = [];
  #x = 0;
  #y = 0;

  constructor(matrix: Matrix) {
    this.#matrix = matrix;
  }

  move(x: number, y: number): void {
    this.end();
    this.#point(x, y);
  }

  line(x: number, y: number): void {
    this.#point(x, y);
  }

  quad(cx: number, cy: number, x: number, y: number): void {
    const [fx, fy] = [this.#x, this.#y];
    this.cubic(fx + ((cx - fx) * 2) / 3, fy + ((cy - fy) * 2) / 3, x + ((cx - x) * 2) / 3, y + ((cy - y) * 2) / 3, [
      x,
      y,
    ]);
  }

  cubic(ax: number, ay: number, bx: number, by: number, [x, y]: readonly [number, number]): void {
    const [fx, fy] = [this.#x, this.#y];
    const [a, b, c, d] = this.#matrix;
    // Second differences say how much it bends.
    const bend = (dx: number, dy: number) => Math.hypot(a * dx + c * dy, b * dx + d * dy);
    const most = Math.max(bend(fx - 2 * ax + bx, fy - 2 * ay + by), bend(ax - 2 * bx + x, ay - 2 * by + y));
    const steps = Math.max(1, Math.min(96, Math.ceil(Math.sqrt((most * 0.75) / FLAT))));
    for (let step = 1; step <= steps; step++) {
      const t = step / steps;
      const u = 1 - t;
      const [p, q, r, s] = [u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t];
      this.#point(p * fx + q * ax + r * bx + s * x, p * fy + q * ay + r * by + s * y);
    }
  }

  close(): void {
    this.closed.add(this.#current);
    this.end();
  }

  /** Ends the path so far; it stays open without `close`. */
  end(): void {
    if (this.#current.length >= 4) this.polygons.push(this.#current);
    this.#current = [];
  }

  #point(x: number, y: number): void {
    const [a, b, c, d, e, f] = this.#matrix;
    this.#current.push(a * x + c * y + e, b * x + d * y + f);
    this.#x = x;
    this.#y = y;
  }
}

export function boundsOf(polygons: readonly Polygon[]): Rect {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const points of polygons)
    for (let at = 0; at < points.length; at += 2) {
      left = Math.min(left, points[at]!);
      right = Math.max(right, points[at]!);
      top = Math.min(top, points[at + 1]!);
      bottom = Math.max(bottom, points[at + 1]!);
    }
  if (!(right >= left)) return { x: 0, y: 0, w: 0, h: 0 };
  const [x, y] = [Math.floor(left), Math.floor(top)];
  return { x, y, w: Math.ceil(right) - x, h: Math.ceil(bottom) - y };
}

let sums = new Float32Array(0);

/** Cover of the polygons, which lie in `whole`, within `clip`. A pixel gets the same for every clip: parts left of the clip count. */
export function rasterise(polygons: readonly Polygon[], whole: Rect, clip: Rect): Mask {
  const area = intersection(whole, clip);
  if (area.w === 0 || area.h === 0) return { ...area, cover: new Uint8Array(0) };
  const stride = area.w + 2;
  const needed = stride * area.h;
  if (sums.length < needed) sums = new Float32Array(needed);
  else sums.fill(0, 0, needed);
  for (const points of polygons) {
    let from = points.length - 2;
    for (let to = 0; to < points.length; to += 2) {
      if (points[from + 1] !== points[to + 1]) edge(points, from, to, area);
      from = to;
    }
  }
  const cover = new Uint8Array(area.w * area.h);
  for (let row = 0; row < area.h; row++) {
    let sum = 0;
    for (let from = row * stride, to = row * area.w, end = to + area.w; to < end; from++, to++) {
      sum += sums[from]!;
      const share = sum < 0 ? -sum : sum;
      cover[to] = share >= 1 ? 255 : (share * 255 + 0.5) | 0;
    }
  }
  return { ...area, cover };
}

/** One edge of a polygon, between two of its points. */
function edge(points: Polygon, from: number, to: number, area: Rect): void {
  const { w, h } = area;
  const stride = w + 2;
  const sign = points[from + 1]! < points[to + 1]! ? 1 : -1;
  const [upper, lower] = sign > 0 ? [from, to] : [to, from];
  let [x0, y0] = [points[upper]! - area.x, points[upper + 1]! - area.y];
  let [x1, y1] = [points[lower]! - area.x, points[lower + 1]! - area.y];
  if (y1 <= 0 || y0 >= h) return;
  const slope = (x1 - x0) / (y1 - y0);
  if (y0 < 0) {
    x0 -= y0 * slope;
    y0 = 0;
  }
  if (y1 > h) {
    x1 -= (y1 - h) * slope;
    y1 = h;
  }
  let x = x0;
  const last = Math.ceil(y1);
  for (let row = Math.floor(y0); row < last; row++) {
    const tall = Math.min(row + 1, y1) - Math.max(row, y0);
    const next = x + tall * slope;
    const high = tall * sign;
    const base = row * stride;
    const [left, right] = x < next ? [x, next] : [next, x];
    x = next;
    if (right <= 0) {
      sums[base]! += high;
      continue;
    }
    if (left >= w) continue;
    if (left < 0 || right > w) {
      // A part of it lies outside: what is left of the area counts whole, what is right of it not at all.
      const width = right - left;
      const cutLeft = left < 0 ? -left / width : 0;
      const cutRight = right > w ? (right - w) / width : 0;
      sums[base]! += high * cutLeft;
      span(base, Math.max(0, left), Math.min(w, right), high * (1 - cutLeft - cutRight));
      continue;
    }
    span(base, left, right, high);
  }
}

/** A piece within one row, from `left` to `right`, as high as `high`. */
function span(base: number, left: number, right: number, high: number): void {
  const first = Math.floor(left);
  const end = Math.ceil(right);
  if (end <= first + 1) {
    const middle = (left + right) / 2 - first;
    sums[base + first]! += high * (1 - middle);
    sums[base + first + 1]! += high * middle;
    return;
  }
  const per = high / (right - left);
  const start = first + 1 - left;
  const begin = 0.5 * per * start * start;
  sums[base + first]! += begin;
  if (end === first + 2) {
    const tail = right - first - 1;
    const over = 0.5 * per * tail * tail;
    sums[base + first + 1]! += high - begin - over;
    sums[base + first + 2]! += over;
    return;
  }
  sums[base + first + 1]! += per * (start + 0.5) - begin;
  for (let at = first + 2; at < end - 1; at++) sums[base + at]! += per;
  const covered = per * (start + 0.5 + (end - first - 3));
  const tail = right - (end - 1);
  const over = 0.5 * per * tail * tail;
  sums[base + end - 1]! += high - covered - over;
  sums[base + end]! += over;
}
