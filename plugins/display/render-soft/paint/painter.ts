/** Puts looks into the picture, from below, within its clip. */
import type { Rect, SceneNode, Shadow, Theme } from '@device-core/plugin-api/scene';
import { LAYERS } from '@device-core/plugin-api/services/renderer';
import type { Canvas } from './canvas.ts';
import { inkOf, solid } from './ink.ts';
import type { Item, Look } from './look.ts';
import { growth, type Matrix, upright } from './matrix.ts';
import { boundsOf, type Mask, Outline, type Polygon, rasterise } from './raster.ts';
import { blurred } from './shadow.ts';
import { roundedBox } from './shapes.ts';
import { styleOf, type Texts } from './text.ts';

/** Pixels of shadows that are kept. */
const MOST_PIXELS = 4 << 20;

export interface Palette {
  readonly theme: Theme;
  readonly plain: boolean;
  readonly texts: Texts;
}

export class Painter {
  readonly #shadows = new Map<string, Mask>();
  #pixels = 0;

  paint(canvas: Canvas, look: Look, palette: Palette): void {
    const { box, bounds, opacity, items, layer } = look;
    const all = () => {
      this.#ground(canvas, look, palette);
      for (const item of items) this.#item(canvas, item, palette, box);
    };
    const place = layer === LAYERS.app ? box : bounds;
    if (opacity >= 1) canvas.within(place, all);
    else canvas.through(place, opacity, all);
  }

  #ground(canvas: Canvas, { box, scene }: Look, { theme }: Palette): void {
    const matrix: Matrix = [1, 0, 0, 1, box.x, box.y];
    const ink = inkOf(theme, scene.background ?? '@surface', box, matrix);
    if (ink.kind === 'solid' && ink.alpha === 0) return;
    canvas.fillBox(box.x, box.y, box.w, box.h, ink);
  }

  #item(canvas: Canvas, item: Item, palette: Palette, box: Rect): void {
    if (!meets(item.bounds, canvas.clip)) return;
    const { items, node, matrix, w, h, opacity } = item;
    if (!items) {
      this.#leaf(canvas, item, palette, box);
      return;
    }
    const inner = () => {
      for (const one of items) this.#item(canvas, one, palette, box);
    };
    const clipped = () => {
      if (node.kind !== 'group' || !node.clip) return inner();
      const outline = new Outline(matrix);
      roundedBox(outline, { x: 0, y: 0, w, h }, node.radius ?? 0);
      const whole = boundsOf(outline.polygons);
      if (upright(matrix) && !node.radius && isWhole(outline.polygons)) canvas.within(whole, inner);
      else canvas.through(whole, (area) => rasterise(outline.polygons, whole, area), inner);
    };
    if (opacity < 1) canvas.through(item.bounds, opacity, clipped);
    else clipped();
  }

  #leaf(canvas: Canvas, item: Item, palette: Palette, box: Rect): void {
    const { node, opacity } = item;
    const shadow = 'shadow' in node && !palette.plain ? node.shadow : undefined;
    const single = !shadow && !(item.shapes?.fill && item.shapes.stroke);
    const draw = (strength: number) => {
      if (shadow && item.shapes) this.#shadow(canvas, item, shadow, palette);
      canvas.within(box, () => this.#body(canvas, item, palette, strength));
    };
    if (opacity >= 1 || single) draw(opacity);
    else canvas.through(item.bounds, opacity, () => draw(1));
  }

  #body(canvas: Canvas, item: Item, palette: Palette, opacity: number): void {
    const { node, matrix, w, h, shapes, text } = item;
    const { theme, texts } = palette;
    if (node.kind === 'text') {
      const ink = solid(theme, node.colour ?? '@text', opacity);
      for (const line of text?.lines ?? []) texts.draw(canvas, line, text!.style, ink, matrix);
      return;
    }
    if (!shapes) {
      this.#stand(canvas, item, palette, opacity);
      return;
    }
    if ('fill' in node && node.fill !== undefined && shapes.fill) {
      const ink = inkOf(theme, node.fill, { w, h }, matrix, opacity);
      const plainBox = node.kind === 'rect' && !node.radius && upright(matrix);
      if (plainBox) canvas.fillBox(matrix[4], matrix[5], w * matrix[0], h * matrix[3], ink);
      else if (node.kind === 'rect' && upright(matrix)) this.#rounded(canvas, item, node.radius ?? 0, ink);
      else fill(canvas, shapes.fill, ink);
    }
    if ('stroke' in node && node.stroke !== undefined && shapes.stroke)
      fill(canvas, shapes.stroke, solid(theme, node.stroke, opacity));
  }

  /** Corners as outlines, and between them boxes: most of a card is flat. */
  #rounded(canvas: Canvas, { matrix, w, h, shapes }: Item, radius: number, ink: ReturnType<typeof inkOf>): void {
    const [a, , , d, e, f] = matrix;
    const [left, top, right, bottom] = [e, f, e + w * a, f + h * d];
    const r = Math.min(radius, w / 2, h / 2);
    const [cornerX, cornerY] = [Math.ceil(r * a) + 1, Math.ceil(r * d) + 1];
    const [inX, inY] = [Math.ceil(left) + cornerX, Math.ceil(top) + cornerY];
    const [outX, outY] = [Math.floor(right) - cornerX, Math.floor(bottom) - cornerY];
    if (outX <= inX || outY <= inY) {
      fill(canvas, shapes!.fill!, ink);
      return;
    }
    const whole = boundsOf(shapes!.fill!);
    const [endX, endY] = [whole.x + whole.w, whole.y + whole.h];
    const corner = (x: number, y: number, toX: number, toY: number) =>
      canvas.within({ x, y, w: toX - x, h: toY - y }, () => fill(canvas, shapes!.fill!, ink));
    corner(whole.x, whole.y, inX, inY);
    corner(outX, whole.y, endX, inY);
    corner(whole.x, outY, inX, endY);
    corner(outX, outY, endX, endY);
    canvas.fillBox(inX, top, outX - inX, inY - top, ink);
    canvas.fillBox(inX, outY, outX - inX, bottom - outY, ink);
    canvas.fillBox(left, inY, right - left, outY - inY, ink);
  }

  #shadow(canvas: Canvas, item: Item, shadow: Shadow, { theme }: Palette): void {
    const { node, matrix, w, h, shapes } = item;
    const size = growth(matrix);
    const [a, b, c, d, e, f] = matrix;
    const [left, top] = [Math.round(e), Math.round(f)];
    const key = `${a},${b},${c},${d}|${w},${h}|${shadow.blur}|${outlineSign(node)}`;
    let mask = this.#shadows.get(key);
    if (!mask) {
      const moved = (shapes!.fill ?? shapes!.stroke ?? []).map((points) =>
        points.map((value, at) => value - (at % 2 === 0 ? left : top)),
      );
      const whole = boundsOf(moved);
      mask = blurred(rasterise(moved, whole, whole), shadow.blur * size);
      this.#pixels += mask.cover.length;
      if (this.#pixels > MOST_PIXELS) {
        this.#shadows.clear();
        this.#pixels = mask.cover.length;
      }
      this.#shadows.set(key, mask);
    }
    const [dx, dy] = [Math.round((shadow.x ?? 0) * size), Math.round((shadow.y ?? 0) * size)];
    canvas.fillMask({ ...mask, x: mask.x + left + dx, y: mask.y + top + dy }, solid(theme, shadow.colour));
  }

  /** Stand-in for a node that this renderer cannot show, with the node's label. */
  #stand(canvas: Canvas, item: Item, { theme, texts, plain }: Palette, opacity: number): void {
    const { matrix, w, h, node } = item;
    const outline = new Outline(matrix);
    roundedBox(outline, { x: 0, y: 0, w, h }, 'radius' in node ? (node.radius ?? 0) : Math.min(16, w / 4, h / 4));
    fill(canvas, outline.polygons, solid(theme, '@sunken', opacity));
    const words = node.label ?? '';
    const surroundings = { theme, textScale: 1, plain } as Parameters<typeof styleOf>[1];
    const style = styleOf({ role: 'caption' }, surroundings);
    if (words === '' || w < 3 * style.size || h < style.line) return;
    const { lines } = texts.layout(words, style, {
      width: w - style.size,
      lines: Math.floor(h / style.line),
      dir: 'auto',
    });
    const ink = solid(theme, '@text-soft', opacity);
    const top = (h - lines.length * style.line) / 2 + style.baseline;
    for (const [index, { text, width }] of lines.entries())
      texts.draw(canvas, { text, x: (w - width) / 2, y: top + index * style.line }, style, ink, matrix);
  }
}

function fill(canvas: Canvas, polygons: readonly Polygon[], ink: ReturnType<typeof inkOf>): void {
  canvas.fillMask(rasterise(polygons, boundsOf(polygons), canvas.clip), ink);
}

const meets = (one: Rect, other: Rect): boolean =>
  one.x < other.x + other.w && other.x < one.x + one.w && one.y < other.y + other.h && other.y < one.y + one.h;

const isWhole = (polygons: readonly Polygon[]): boolean =>
  polygons.every((points) => points.every((value) => Math.abs(value - Math.round(value)) < 1e-6));

/** Members of a node that make its outline, beside its size. */
function outlineSign(node: SceneNode): string {
  if (node.kind === 'rect') return `rect ${node.radius ?? 0} ${node.fill === undefined ? (node.strokeWidth ?? 1) : ''}`;
  if (node.kind === 'ellipse')
    return `ellipse ${node.start ?? 0} ${node.sweep ?? 360} ${node.fill === undefined ? node.strokeWidth : ''}`;
  return node.kind === 'path' ? `path ${node.d} ${node.fill === undefined ? node.strokeWidth : ''}` : node.kind;
}
