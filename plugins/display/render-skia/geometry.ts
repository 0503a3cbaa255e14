/** Geometry of the panel: matrices, and whole pixels within reach. */
import type { Rect } from '@device-core/plugin-api/scene';

/** x' = a x + c y + e, y' = b x + d y + f, as a canvas has it. */
export type Matrix = readonly [a: number, b: number, c: number, d: number, e: number, f: number];

export const IDENTITY: Matrix = [1, 0, 0, 1, 0, 0];

/** `m`, within which the box of a node is moved, and turned (degrees) and scaled about its middle. */
export function placed([a, b, c, d, e, f]: Matrix, { x, y, w, h }: Rect, rotate = 0, scale = 1): Matrix {
  if (rotate === 0 && scale === 1) return [a, b, c, d, a * x + c * y + e, b * x + d * y + f];
  const angle = (rotate * Math.PI) / 180;
  const [cos, sin] = [Math.cos(angle) * scale, Math.sin(angle) * scale];
  const [mx, my] = [w / 2, h / 2];
  const [tx, ty] = [x + mx - cos * mx + sin * my, y + my - sin * mx - cos * my];
  return [
    a * cos + c * sin,
    b * cos + d * sin,
    c * cos - a * sin,
    d * cos - b * sin,
    a * tx + c * ty + e,
    b * tx + d * ty + f,
  ];
}

/** How much larger things are within it: its longest stretch. */
export const stretchOf = ([a, b, c, d]: Matrix): number => Math.max(Math.hypot(a, b), Math.hypot(c, d));

export const sameMatrix = (one: Matrix, other: Matrix): boolean =>
  one === other || one.every((value, index) => value === other[index]);

/** Farthest coordinate: numbers stay whole for every scene. */
const FAR = 1 << 15;
const near = (value: number): number => Math.max(-FAR, Math.min(FAR, value));

/** The whole pixels that a box reaches, `more` pixels around it, and one for smoothed edges. */
export function reach([a, b, c, d, e, f]: Matrix, { x, y, w, h }: Rect, more = 0): Rect {
  const [ax, cx, ay, cy] = [a * x, c * y, b * x, d * y];
  const [aw, ch, bw, dh] = [a * w, c * h, b * w, d * h];
  const left = ax + cx + Math.min(0, aw) + Math.min(0, ch) + e;
  const top = ay + cy + Math.min(0, bw) + Math.min(0, dh) + f;
  return outward(
    left - more,
    top - more,
    left + Math.abs(aw) + Math.abs(ch) + more,
    top + Math.abs(bw) + Math.abs(dh) + more,
  );
}

function outward(left: number, top: number, right: number, bottom: number): Rect {
  const [x, y] = [Math.floor(near(left)) - 1, Math.floor(near(top)) - 1];
  return { x, y, w: Math.ceil(near(right)) + 1 - x, h: Math.ceil(near(bottom)) + 1 - y };
}

/** The whole pixels that a box fills to their edges; of no size where it is turned. */
export function filled([a, b, c, d, e, f]: Matrix, { x, y, w, h }: Rect): Rect {
  if (b !== 0 || c !== 0 || a <= 0 || d <= 0) return NOWHERE;
  const [left, top] = [Math.ceil(near(a * x + e)), Math.ceil(near(d * y + f))];
  const [right, bottom] = [Math.floor(near(a * (x + w) + e)), Math.floor(near(d * (y + h) + f))];
  return right > left && bottom > top ? { x: left, y: top, w: right - left, h: bottom - top } : NOWHERE;
}

export const NOWHERE: Rect = { x: 0, y: 0, w: 0, h: 0 };

export const sameRect = (one: Rect, other: Rect): boolean =>
  one.x === other.x && one.y === other.y && one.w === other.w && one.h === other.h;

/** `inner` lies wholly in `outer`. */
export const within = (inner: Rect, outer: Rect): boolean =>
  inner.x >= outer.x &&
  inner.y >= outer.y &&
  inner.x + inner.w <= outer.x + outer.w &&
  inner.y + inner.h <= outer.y + outer.h;
