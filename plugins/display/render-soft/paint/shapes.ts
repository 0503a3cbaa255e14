/** Outlines of what scenes are made of, in the units of a node's own box. */
import { type PathNode, readPath } from '@device-core/plugin-api/scene';
import type { Outline } from './raster.ts';

/** A circle by four cubic curves. */
const KAPPA = 0.5522847498;

/** Clockwise; `reversed` for a hole. */
export function roundedBox(
  outline: Outline,
  box: { readonly x: number; readonly y: number; readonly w: number; readonly h: number },
  radius: number,
  reversed = false,
): void {
  const { x, y, w, h } = box;
  if (w <= 0 || h <= 0) return;
  const r = Math.max(0, Math.min(radius, w / 2, h / 2));
  const k = r * (1 - KAPPA);
  const [right, bottom] = [x + w, y + h];
  if (r === 0) {
    outline.move(x, y);
    if (reversed) {
      outline.line(x, bottom);
      outline.line(right, bottom);
      outline.line(right, y);
    } else {
      outline.line(right, y);
      outline.line(right, bottom);
      outline.line(x, bottom);
    }
    outline.close();
    return;
  }
  if (reversed) {
    outline.move(x + r, y);
    outline.cubic(x + k, y, x, y + k, [x, y + r]);
    outline.line(x, bottom - r);
    outline.cubic(x, bottom - k, x + k, bottom, [x + r, bottom]);
    outline.line(right - r, bottom);
    outline.cubic(right - k, bottom, right, bottom - k, [right, bottom - r]);
    outline.line(right, y + r);
    outline.cubic(right, y + k, right - k, y, [right - r, y]);
    outline.close();
    return;
  }
  outline.move(x + r, y);
  outline.line(right - r, y);
  outline.cubic(right - k, y, right, y + k, [right, y + r]);
  outline.line(right, bottom - r);
  outline.cubic(right, bottom - k, right - k, bottom, [right - r, bottom]);
  outline.line(x + r, bottom);
  outline.cubic(x + k, bottom, x, bottom - k, [x, bottom - r]);
  outline.line(x, y + r);
  outline.cubic(x, y + k, x + k, y, [x + r, y]);
  outline.close();
}

interface Arc {
  readonly w: number;
  readonly h: number;
  /** Degrees; 0 is at the top, clockwise. */
  readonly start: number;
  readonly sweep: number;
}

/** A part of an ellipse, or all of it, filled from its middle. */
export function pie(outline: Outline, { w, h, start, sweep }: Arc): void {
  if (w <= 0 || h <= 0 || sweep === 0) return;
  const middle = [w / 2, h / 2] as const;
  if (Math.abs(sweep) >= 360) outline.move(w / 2, 0);
  else outline.move(...middle);
  curve(outline, { middle, radii: [w / 2, h / 2] }, start, sweep, Math.abs(sweep) >= 360);
  outline.close();
}

/** A line along a part of an ellipse, `width` wide. */
export function ring(outline: Outline, arc: Arc, width: number, round: boolean): void {
  const { w, h, start } = arc;
  const sweep = Math.max(-360, Math.min(360, arc.sweep));
  if (w <= 0 || h <= 0 || sweep === 0) return;
  const middle = [w / 2, h / 2] as const;
  const outer = [w / 2 + width / 2, h / 2 + width / 2] as const;
  const inner = [Math.max(0, w / 2 - width / 2), Math.max(0, h / 2 - width / 2)] as const;
  if (Math.abs(sweep) === 360) {
    curve(outline, { middle, radii: outer }, start, 360, true);
    outline.close();
    if (inner[0] > 0 && inner[1] > 0) curve(outline, { middle, radii: inner }, start + 360, -360, true);
    outline.close();
    return;
  }
  const [from, length] = sweep < 0 ? [start + sweep, -sweep] : [start, sweep];
  curve(outline, { middle, radii: outer }, from, length, true);
  curve(outline, { middle, radii: inner }, from + length, -length, false);
  outline.close();
  if (!round) return;
  for (const angle of [from, from + length]) {
    const [x, y] = onEllipse(middle, [w / 2, h / 2], angle);
    dot(outline, x, y, width / 2);
  }
}

/** A full circle. */
export function dot(outline: Outline, x: number, y: number, radius: number): void {
  curve(outline, { middle: [x, y], radii: [radius, radius] }, 0, 360, true);
  outline.close();
}

function onEllipse(
  [mx, my]: readonly [number, number],
  [rx, ry]: readonly [number, number],
  degrees: number,
): readonly [number, number] {
  const angle = ((degrees - 90) * Math.PI) / 180;
  return [mx + rx * Math.cos(angle), my + ry * Math.sin(angle)];
}

interface Ellipse {
  readonly middle: readonly [number, number];
  readonly radii: readonly [number, number];
}

function curve(
  outline: Outline,
  { middle, radii: [rx, ry] }: Ellipse,
  start: number,
  sweep: number,
  begins: boolean,
): void {
  const pieces = Math.max(1, Math.ceil(Math.abs(sweep) / 90));
  const step = sweep / pieces;
  const reach = (4 / 3) * Math.tan((step * Math.PI) / 720);
  let from = start;
  const first = onEllipse(middle, [rx, ry], from);
  if (begins) outline.move(...first);
  else outline.line(...first);
  for (let piece = 0; piece < pieces; piece++) {
    const [a, b] = [((from - 90) * Math.PI) / 180, ((from + step - 90) * Math.PI) / 180];
    const [x0, y0] = onEllipse(middle, [rx, ry], from);
    const [x1, y1] = onEllipse(middle, [rx, ry], from + step);
    outline.cubic(
      x0 - reach * rx * Math.sin(a),
      y0 + reach * ry * Math.cos(a),
      x1 + reach * rx * Math.sin(b),
      y1 - reach * ry * Math.cos(b),
      [x1, y1],
    );
    from += step;
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
      for (const [one, two, to] of arcPieces([x, y], values, end)) cubic(one, two, to);
      [x, y] = end;
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

type Curve = readonly [readonly [number, number], readonly [number, number], readonly [number, number]];

/** An arc by its end points (SVG 1.1, F.6.5) as cubic curves. */
function arcPieces(
  [x0, y0]: readonly [number, number],
  values: readonly number[],
  [x1, y1]: readonly [number, number],
): readonly Curve[] {
  const [rawX, rawY, turn, large, sweeps] = values as [number, number, number, number, number];
  let [rx, ry] = [Math.abs(rawX), Math.abs(rawY)];
  if (rx === 0 || ry === 0)
    return [
      [
        [x0, y0],
        [x1, y1],
        [x1, y1],
      ],
    ];
  const phi = (turn * Math.PI) / 180;
  const [cos, sin] = [Math.cos(phi), Math.sin(phi)];
  const [hx, hy] = [(x0 - x1) / 2, (y0 - y1) / 2];
  const [px, py] = [cos * hx + sin * hy, cos * hy - sin * hx];
  const excess = (px / rx) ** 2 + (py / ry) ** 2;
  if (excess > 1) [rx, ry] = [rx * Math.sqrt(excess), ry * Math.sqrt(excess)];
  const [a, b] = [(rx * py) ** 2, (ry * px) ** 2];
  if (a + b === 0) return [];
  const factor = Math.sqrt(Math.max(0, ((rx * ry) ** 2 - a - b) / (a + b))) * (large === sweeps ? -1 : 1);
  const [qx, qy] = [(factor * rx * py) / ry, (-factor * ry * px) / rx];
  const [cx, cy] = [cos * qx - sin * qy + (x0 + x1) / 2, sin * qx + cos * qy + (y0 + y1) / 2];
  const from = Math.atan2((py - qy) / ry, (px - qx) / rx);
  let length = Math.atan2((-py - qy) / ry, (-px - qx) / rx) - from;
  if (sweeps && length < 0) length += 2 * Math.PI;
  if (!sweeps && length > 0) length -= 2 * Math.PI;
  const pieces = Math.max(1, Math.ceil(Math.abs(length) / (Math.PI / 2)));
  const step = length / pieces;
  const reach = (4 / 3) * Math.tan(step / 4);
  const at = (angle: number, along: number): readonly [number, number] => {
    const [ux, uy] = [Math.cos(angle) - along * Math.sin(angle), Math.sin(angle) + along * Math.cos(angle)];
    return [cx + cos * rx * ux - sin * ry * uy, cy + sin * rx * ux + cos * ry * uy];
  };
  return Array.from({ length: pieces }, (_, piece) => {
    const [begin, end] = [from + piece * step, from + (piece + 1) * step];
    return [at(begin, reach), at(end, -reach), piece === pieces - 1 ? [x1, y1] : at(end, 0)] as const;
  });
}
