/** A line of some width along polygons: each piece a box, joined and ended as wanted, all wound alike so that they add up. */
import type { Polygon } from './raster.ts';

interface Look {
  /** Pixels. */
  readonly width: number;
  readonly round: boolean;
  readonly roundCap: boolean;
  readonly closed: boolean;
}

export function strokeOf(points: Polygon, { width, round, roundCap, closed }: Look): readonly Polygon[] {
  const out: Polygon[] = [];
  const half = width / 2;
  const line = withoutRepeats(points, closed);
  const count = line.length / 2;
  if (count === 1) return roundCap ? [circle(line[0]!, line[1]!, half)] : [];
  const pieces = closed ? count : count - 1;
  const at = (index: number) => [line[(index % count) * 2]!, line[(index % count) * 2 + 1]!] as const;
  for (let piece = 0; piece < pieces; piece++) {
    const [x0, y0] = at(piece);
    const [x1, y1] = at(piece + 1);
    const length = Math.hypot(x1 - x0, y1 - y0);
    const [nx, ny] = [((y1 - y0) / length) * half, ((x0 - x1) / length) * half];
    out.push(wound([x0 + nx, y0 + ny, x1 + nx, y1 + ny, x1 - nx, y1 - ny, x0 - nx, y0 - ny]));
    if (piece < pieces - 1 || closed) out.push(...join(at(piece), at(piece + 1), at(piece + 2), half, round));
  }
  if (!closed && roundCap) for (const end of [0, count - 1]) out.push(circle(...at(end), half));
  return out;
}

type Point = readonly [number, number];

function join([ax, ay]: Point, [x, y]: Point, [bx, by]: Point, half: number, round: boolean): readonly Polygon[] {
  const [ux, uy] = unit(x - ax, y - ay);
  const [vx, vy] = unit(bx - x, by - y);
  const turn = ux * vy - uy * vx;
  const along = ux * vx + uy * vy;
  if (Math.abs(turn) < 1e-3 && along > 0) return [];
  // Pieces of a curve turn little: a miter is as good as a circle there, and cheaper.
  if (round && along < 0.9) return [circle(x, y, half)];
  const side = turn > 0 ? -1 : 1;
  const one: Point = [x - uy * half * side, y + ux * half * side];
  const other: Point = [x - vy * half * side, y + vx * half * side];
  const reach = Math.sqrt((1 + along) / 2);
  // As in SVG, a miter longer than four times the width is cut off.
  if (reach < 0.25) return [wound([x, y, ...one, ...other])];
  const [mx, my] = unit(one[0] + other[0] - 2 * x, one[1] + other[1] - 2 * y);
  return [wound([x, y, ...one, x + (mx * half) / reach, y + (my * half) / reach, ...other])];
}

function unit(x: number, y: number): Point {
  const length = Math.hypot(x, y) || 1;
  return [x / length, y / length];
}

function circle(x: number, y: number, radius: number): Polygon {
  const steps = Math.max(8, Math.min(64, Math.ceil(Math.PI * Math.sqrt(radius * 4))));
  return Array.from({ length: steps }, (_, step) => (step * 2 * Math.PI) / steps).flatMap((angle) => [
    x + radius * Math.cos(angle),
    y + radius * Math.sin(angle),
  ]);
}

/** Clockwise on the screen, as the circle is. */
function wound(points: readonly number[]): Polygon {
  let area = 0;
  for (let at = 0; at < points.length; at += 2) {
    const next = (at + 2) % points.length;
    area += points[at]! * points[next + 1]! - points[next]! * points[at + 1]!;
  }
  if (area >= 0) return points;
  return points.flatMap((_, at) =>
    at % 2 === 0 ? [points[points.length - 2 - at]!, points[points.length - 1 - at]!] : [],
  );
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
