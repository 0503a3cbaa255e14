/** Outlines of what scenes are made of, in the units of a node's own box. */
import { type PathNode, readPath } from '@device-core/plugin-api/scene';
import type { Outline } from './raster.ts';

const FULL = 360;

/** Clockwise from its top left corner. */
export function roundedBox(outline: Outline, w: number, h: number, radius: number): void {
  if (w <= 0 || h <= 0) return;
  const r = Math.max(0, Math.min(radius, w / 2, h / 2));
  const corners = [[r, r], [w - r, r], [w - r, h - r], [r, h - r]] as const; // biome-ignore format: corners
  for (const [index, middle] of corners.entries()) {
    const start = 180 + 90 * index;
    const arc = { middle, radii: [r, r], turn: 0 } as const;
    const [x, y] = onArc(arc, start);
    if (index === 0) outline.move(x, y);
    else outline.line(x, y);
    if (r > 0) curve(outline, arc, start, 90);
  }
  outline.close();
}

/** The ellipse in a box or a part of it, from degrees that count from its top, clockwise; a pie where `filled`. */
export function ellipse(
  outline: Outline,
  { w, h, start = 0, sweep = FULL }: { w: number; h: number; start?: number; sweep?: number },
  filled: boolean,
): void {
  const length = Math.max(-FULL, Math.min(FULL, sweep));
  if (w <= 0 || h <= 0 || length === 0) return;
  const arc = { middle: [w / 2, h / 2], radii: [w / 2, h / 2], turn: 0 } as const;
  const whole = Math.abs(length) === FULL;
  outline.move(...onArc(arc, start - 90));
  curve(outline, arc, start - 90, length);
  if (filled && !whole) outline.line(w / 2, h / 2);
  if (filled || whole) outline.close();
  else outline.end();
}

type Point = readonly [number, number];

interface Arc {
  readonly middle: Point;
  readonly radii: Point;
  /** Degrees by which the ellipse is turned. */
  readonly turn: number;
}

/** Degrees count from the right of the ellipse. */
function onArc({ middle: [mx, my], radii: [rx, ry], turn }: Arc, degrees: number, along = 0): Point {
  const [angle, phi] = [(degrees * Math.PI) / 180, (turn * Math.PI) / 180];
  const ux = rx * (Math.cos(angle) - along * Math.sin(angle));
  const uy = ry * (Math.sin(angle) + along * Math.cos(angle));
  return [mx + Math.cos(phi) * ux - Math.sin(phi) * uy, my + Math.sin(phi) * ux + Math.cos(phi) * uy];
}

/** Cubic curves along the arc, from where the outline is. `scale` is applied to all of it. */
function curve(outline: Outline, arc: Arc, start: number, sweep: number, [sx, sy]: Point = [1, 1]): void {
  const pieces = Math.max(1, Math.ceil(Math.abs(sweep) / 90));
  const step = sweep / pieces;
  const reach = (4 / 3) * Math.tan((step * Math.PI) / 720);
  for (let piece = 0; piece < pieces; piece++) {
    const [from, to] = [start + piece * step, start + (piece + 1) * step];
    const [[ax, ay], [bx, by], [x, y]] = [onArc(arc, from, reach), onArc(arc, to, -reach), onArc(arc, to)];
    outline.cubic(ax * sx, ay * sy, bx * sx, by * sy, [x * sx, y * sy]);
  }
}

/** The path's own outline, scaled to its box. */
export function pathOutline(outline: Outline, { d, view, w, h }: Pick<PathNode, 'd' | 'view' | 'w' | 'h'>): void {
  const segments = readPath(d);
  if (typeof segments === 'string') return;
  const [sx, sy] = view ? [(w ?? view[0]) / view[0], (h ?? view[1]) / view[1]] : [1, 1];
  let [x, y, startX, startY, controlX, controlY] = [0, 0, 0, 0, 0, 0];
  let before = '';
  for (const { command, values } of segments) {
    const kind = command.toLowerCase();
    const relative = command === kind;
    const [baseX, baseY] = relative ? [x, y] : [0, 0];
    const point = (index: number): readonly [number, number] => [baseX + values[index]!, baseY + values[index + 1]!];
    const mirrored = (kinds: string): readonly [number, number] =>
      kinds.includes(before) ? [2 * x - controlX, 2 * y - controlY] : [x, y];
    const cubic = (one: readonly [number, number], two: readonly [number, number], end: readonly [number, number]) => {
      outline.cubic(one[0] * sx, one[1] * sy, two[0] * sx, two[1] * sy, [end[0] * sx, end[1] * sy]);
      [controlX, controlY] = two;
      [x, y] = end;
    };
    const quad = (control: readonly [number, number], end: readonly [number, number]) => {
      outline.quad(control[0] * sx, control[1] * sy, end[0] * sx, end[1] * sy);
      [controlX, controlY] = control;
      [x, y] = end;
    };
    if (kind === 'm') {
      [x, y] = point(0);
      [startX, startY] = [x, y];
      outline.move(x * sx, y * sy);
    } else if (kind === 'z') {
      [x, y] = [startX, startY];
      outline.line(x * sx, y * sy);
      outline.close();
      outline.move(x * sx, y * sy);
    } else if (kind === 'c') cubic(point(0), point(2), point(4));
    else if (kind === 's') cubic(mirrored('cs'), point(0), point(2));
    else if (kind === 'q') quad(point(0), point(2));
    else if (kind === 't') quad(mirrored('qt'), point(0));
    else if (kind === 'a') {
      const end = point(5);
      const arc = arcOf([x, y], values, end);
      if (arc) curve(outline, arc, arc.from, arc.sweep, [sx, sy]);
      [x, y] = end;
      outline.line(x * sx, y * sy);
    } else {
      if (kind === 'h') x = (relative ? x : 0) + values[0]!;
      else if (kind === 'v') y = (relative ? y : 0) + values[0]!;
      else [x, y] = point(0);
      outline.line(x * sx, y * sy);
    }
    before = kind;
  }
  outline.end();
}

/** An arc between two points (SVG 1.1, F.6.5); undefined where there is none to draw. */
function arcOf(
  [x0, y0]: Point,
  values: readonly number[],
  [x1, y1]: Point,
): (Arc & { from: number; sweep: number }) | undefined {
  const [rawX, rawY, turn, large, sweeps] = values as [number, number, number, number, number];
  const phi = (turn * Math.PI) / 180;
  const [cos, sin] = [Math.cos(phi), Math.sin(phi)];
  const [hx, hy] = [(x0 - x1) / 2, (y0 - y1) / 2];
  const [px, py] = [cos * hx + sin * hy, cos * hy - sin * hx];
  if (rawX === 0 || rawY === 0 || (px === 0 && py === 0)) return undefined;
  const grown = Math.max(1, Math.hypot(px / rawX, py / rawY));
  const [rx, ry] = [Math.abs(rawX) * grown, Math.abs(rawY) * grown];
  const [a, b] = [(rx * py) ** 2, (ry * px) ** 2];
  const factor = Math.sqrt(Math.max(0, ((rx * ry) ** 2 - a - b) / (a + b))) * (large === sweeps ? -1 : 1);
  const [qx, qy] = [(factor * rx * py) / ry, (-factor * ry * px) / rx];
  const middle = [cos * qx - sin * qy + (x0 + x1) / 2, sin * qx + cos * qy + (y0 + y1) / 2] as const;
  const degrees = (x: number, y: number) => (Math.atan2((y - qy) / ry, (x - qx) / rx) * 180) / Math.PI;
  const from = degrees(px, py);
  const sweep = (degrees(-px, -py) - from + 2 * FULL) % FULL;
  return { middle, radii: [rx, ry], turn, from, sweep: sweeps ? sweep : sweep - FULL };
}
