/** Outlines of paths: read once, kept by their data. */
import type { PathNode, Rect } from '@device-core/plugin-api/scene';
import { addon, type Outline } from './canvas.ts';

interface Kept {
  readonly outline: Outline;
  /** Box in the outline's coordinates, with its control points. */
  readonly box: Rect;
}

const MOST_KEPT = 512;
const kept = new Map<string, Kept>();

export function outlineOf(d: string): Kept {
  const known = kept.get(d);
  if (known !== undefined) return known;
  const outline = new (addon().Path2D)(d);
  const [left, top, right, bottom] = outline.getBounds();
  const made: Kept = { outline, box: { x: left, y: top, w: right - left, h: bottom - top } };
  if (kept.size === MOST_KEPT) kept.delete(kept.keys().next().value!);
  kept.set(d, made);
  return made;
}

/** From the data's own coordinates to units. */
export const scaleOf = ({ view }: PathNode, w: number, h: number): readonly [x: number, y: number] =>
  view === undefined ? [1, 1] : [w / view[0], h / view[1]];

/** Box of a path in units, without its stroke. */
export function outlineBox(node: PathNode, w: number, h: number): Rect {
  const { box } = outlineOf(node.d);
  const [sx, sy] = scaleOf(node, w, h);
  return { x: box.x * sx, y: box.y * sy, w: box.w * sx, h: box.h * sy };
}
