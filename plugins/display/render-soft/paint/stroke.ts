/** A line of some width along polygons: each piece a box, joined by circles, all wound alike so that they add up. */
import type { Polygon } from './raster.ts';

interface Look {
  /** Pixels. */
  readonly width: number;
  readonly roundCap: boolean;
  readonly closed: boolean;
}

export function strokeOf(points: Polygon, { width, roundCap, closed }: Look): readonly Polygon[] {
  const out: Polygon[] = [];
  const half = width / 2;
  const line = withoutRepeats(points, closed);
  const count = line.length / 2;
  const at = (index: number) => [line[(index % count) * 2]!, line[(index % count) * 2 + 1]!] as const;
  const pieces = closed && count > 1 ? count : count - 1;
  for (let piece = 0; piece < pieces; piece++) {
    const [x0, y0] = at(piece);
    const [x1, y1] = at(piece + 1);
    const length = Math.hypot(x1 - x0, y1 - y0);
    const [nx, ny] = [((y1 - y0) / length) * half, ((x0 - x1) / length) * half];
    out.push([x0 + nx, y0 + ny, x1 + nx, y1 + ny, x1 - nx, y1 - ny, x0 - nx, y0 - ny]);
  }
  for (let corner = 0; corner < count; corner++) {
    const end = !closed && (corner === 0 || corner === count - 1);
    if (end && roundCap) out.push(circle(...at(corner), half));
    if (!end && count > 1) out.push(join(at(corner + count - 1), at(corner), at(corner + 1), half));
  }
  return out;
}

type Point = readonly [number, number];

/** A circle, or a wedge between pieces of a curve: cover of shapes that overlap at an edge adds up to bumps. */
function join([ax, ay]: Point, [x, y]: Point, [bx, by]: Point, half: number): Polygon {
  const [before, after] = [Math.atan2(y - ay, x - ax), Math.atan2(by - y, bx - x)];
  const turn = Math.sin(after - before);
  if (Math.cos(after - before) < 0.9) return circle(x, y, half);
  const [first, last] = turn > 0 ? [before, after] : [after + Math.PI, before + Math.PI];
  const corner = (angle: number) => [x + half * Math.sin(angle), y - half * Math.cos(angle)];
  return [x, y, ...corner(first), ...corner(last)];
}

/** Wound as the boxes are. */
function circle(x: number, y: number, radius: number): Polygon {
  const steps = Math.max(8, Math.min(64, Math.ceil(Math.PI * Math.sqrt(radius * 4))));
  return Array.from({ length: steps }, (_, step) => (step * 2 * Math.PI) / steps).flatMap((angle) => [
    x + radius * Math.cos(angle),
    y + radius * Math.sin(angle),
  ]);
}

function withoutRepeats(points: Polygon, closed: boolean): Polygon {
  const kept: number[] = [];
  for (let at = 0; at < points.length; at += 2)
    if (kept.length === 0 || Math.hypot(points[at]! - kept.at(-2)!, points[at + 1]! - kept.at(-1)!) > 1e-3)
      kept.push(points[at]!, points[at + 1]!);
  while (closed && kept.length > 2 && Math.hypot(kept[0]! - kept.at(-2)!, kept[1]! - kept.at(-1)!) <= 1e-3)
    kept.splice(-2);
  return kept;
}
