/** Painting of one thing. The canvas is clipped to what changed already. */

import {
  type EllipseNode,
  type ImageNode,
  intersection,
  overlap,
  type Paint,
  type PathNode,
  type Rect,
  type RectNode,
  resolveColour,
  type SpriteNode,
  type TextNode,
  type Theme,
  type VideoNode,
} from '@device-core/plugin-api/scene';
import type { Surroundings } from '@device-core/plugin-api/services/renderer';
import { MITER_LIMIT } from './build.ts';
import { addon, type Canvas, type Context, canvasOf, type Outline } from './canvas.ts';
import { type Matrix, stretchOf, within } from './geometry.ts';
import type { Images } from './images.ts';
import type { Clip, Item, Painted } from './items.ts';
import { outlineOf, scaleOf } from './outlines.ts';
import type { Lines } from './text.ts';
import { use } from './text.ts';

/** Letters that pile up. */
const TOWERS = /\p{M}/u;

type Shape = RectNode | EllipseNode | PathNode;

export class Painter {
  readonly #width: number;
  readonly #height: number;
  readonly #images: Images;
  /** Canvases of layers within layers; each is as large as the panel. */
  #scratch: readonly [Canvas, Context] | undefined;
  readonly #layers: (readonly [Canvas, Context])[] = [];

  constructor(width: number, height: number, images: Images) {
    this.#width = width;
    this.#height = height;
    this.#images = images;
  }

  /** Everything of `items` that is seen in `area`, from below. Nothing else of the canvas changes. */
  paint(context: Context, items: readonly Painted[], area: Rect, surroundings: Surroundings): void {
    const spills = items.some((item) => item.kind === 'item' && overlap(item.bounds, area) && uncut(item, area));
    if (!spills) {
      this.#paint(context, items, area, surroundings);
      return;
    }
    this.#scratch ??= canvasOf(this.#width, this.#height, true);
    const [canvas, inner] = this.#scratch;
    const { x, y, w, h } = area;
    inner.fillStyle = resolveColour(surroundings.theme, '@background');
    inner.fillRect(x, y, w, h);
    this.#paint(inner, items, area, surroundings);
    lay(context, canvas, area, 1);
  }

  /** Paints the items; pixels around `area` are undefined. */
  #paint(context: Context, items: readonly Painted[], area: Rect, surroundings: Surroundings, depth = 0): void {
    for (const item of items) {
      const part = intersection(item.bounds, area);
      if (part.w <= 0 || part.h <= 0) continue;
      if (item.kind === 'layer') this.#layer(context, item, part, surroundings, depth);
      else this.#item(context, item, surroundings, within(item.bounds, area) || uncut(item, area) ? undefined : area);
    }
  }

  #layer(
    context: Context,
    { alpha, items }: Painted & { readonly kind: 'layer' },
    part: Rect,
    surroundings: Surroundings,
    depth: number,
  ): void {
    this.#layers[depth] ??= canvasOf(this.#width, this.#height, false);
    const [canvas, inner] = this.#layers[depth];
    const { x, y, w, h } = part;
    inner.clearRect(x, y, w, h);
    this.#paint(inner, items, part, surroundings, depth + 1);
    lay(context, canvas, part, alpha);
  }

  #item(context: Context, item: Item, surroundings: Surroundings, area: Rect | undefined): void {
    const { node, matrix, alpha, clip, lines } = item;
    context.save();
    if (area !== undefined) clipBox(context, area);
    clipWith(context, clip);
    // Text that towers above its line, marks upon marks for example, is cut at its bounds.
    if (lines?.lines.some(({ text: line }) => TOWERS.test(line))) clipBox(context, item.bounds);
    context.setTransform(...(matrix as [number, number, number, number, number, number]));
    if (alpha < 1) context.globalAlpha = alpha;
    switch (node.kind) {
      case 'rect':
      case 'ellipse':
      case 'path':
        shape(context, node, item, surroundings);
        break;
      case 'text':
        context.fillStyle = resolveColour(surroundings.theme, node.colour ?? '@text');
        text(context, node, lines!);
        break;
      default:
        this.#picture(context, item, node);
    }
    context.restore();
  }

  #picture(context: Context, { w, h, picture = '', frame }: Item, node: ImageNode | SpriteNode | VideoNode): void {
    const canvas = this.#images.find(picture);
    if (canvas === undefined || w <= 0 || h <= 0) return;
    context.imageSmoothingEnabled = true;
    context.imageSmoothingQuality = 'medium';
    if (node.kind === 'sprite') {
      const columns = Math.min(node.columns ?? node.frames, node.frames);
      const [fw, fh] = [canvas.width / columns, canvas.height / Math.ceil(node.frames / columns)];
      context.drawImage(canvas, (frame % columns) * fw, Math.floor(frame / columns) * fh, fw, fh, 0, 0, w, h);
      return;
    }
    const { fit = 'cover', radius = 0 } = node;
    if (radius > 0 || fit === 'cover') {
      context.beginPath();
      context.roundRect(0, 0, w, h, Math.min(radius, w / 2, h / 2));
      context.clip();
    }
    if (fit === 'fill') return void context.drawImage(canvas, 0, 0, w, h);
    const scale = (fit === 'cover' ? Math.max : Math.min)(w / canvas.width, h / canvas.height);
    const [pw, ph] = [canvas.width * scale, canvas.height * scale];
    context.drawImage(canvas, (w - pw) / 2, (h - ph) / 2, pw, ph);
  }
}

function lay(context: Context, canvas: Canvas, area: Rect, alpha: number): void {
  context.save();
  clipBox(context, area);
  context.globalAlpha = alpha;
  context.imageSmoothingEnabled = false;
  // The whole canvas within a clip: Skia rounds the colours of a part of it in another way, by a level each time it is laid over another.
  // Not drawCanvas: that repeats the calls within this clip.
  context.drawImage(canvas, 0, 0);
  context.restore();
}

/**
 * Skia divides a curve anew where it leaves the clip, and then smooths its edge otherwise. Such a thing is painted
 * whole, also where a part of it is wanted: else pieces would not be what the whole is, by up to 60 levels.
 */
const uncut = (item: Item, area: Rect): boolean =>
  !within(item.bounds, area) &&
  !exact(item) &&
  !(item.cover !== undefined && within(intersection(item.bounds, area), item.cover));

/** Its edges are the same, wherever it is cut: they are straight and upright, or of letters. */
function exact({ node, matrix, clip }: Item): boolean {
  for (let one = clip; one !== undefined; one = one.outer) if (one.radius > 0 || !upright(one.matrix)) return false;
  if (!upright(matrix) || node.kind === 'ellipse' || node.kind === 'path') return false;
  if (node.kind === 'text') return true;
  if (node.kind === 'rect') return !(node.radius || node.shadow);
  return node.kind === 'sprite' || !node.radius;
}

const upright = ([, b, c]: Matrix): boolean => b === 0 && c === 0;

function clipWith(context: Context, clip: Clip | undefined): void {
  for (let one = clip; one !== undefined; one = one.outer) {
    const { matrix, w, h, radius } = one;
    context.setTransform(...(matrix as [number, number, number, number, number, number]));
    context.beginPath();
    if (radius > 0) context.roundRect(0, 0, w, h, Math.min(radius, w / 2, h / 2));
    else context.rect(0, 0, w, h);
    context.clip();
  }
}

function clipBox(context: Context, { x, y, w, h }: Rect): void {
  context.resetTransform();
  context.beginPath();
  context.rect(x, y, w, h);
  context.clip();
}

function shape(context: Context, node: Shape, { matrix, w, h }: Item, { theme, plain }: Surroundings): void {
  const stretch = stretchOf(matrix);
  const { fill, stroke, strokeWidth = 1 } = node;
  if (node.shadow !== undefined && !plain) {
    const { x = 0, y = 0, blur, colour } = node.shadow;
    // A canvas has twice the deviation, and neither of them grows with what it draws.
    context.shadowBlur = blur * 2 * stretch;
    context.shadowOffsetX = x * stretch;
    context.shadowOffsetY = y * stretch;
    context.shadowColor = resolveColour(theme, colour);
  }
  if (fill !== undefined) {
    context.fillStyle = paintOf(context, fill, w, h, theme);
    draw(context, node, [w, h], (path) => (path === undefined ? context.fill() : context.fill(path)), false);
    if (stroke !== undefined) context.shadowColor = 'transparent';
  }
  if (stroke !== undefined && strokeWidth > 0) {
    context.strokeStyle = resolveColour(theme, stroke);
    context.lineWidth = strokeWidth;
    context.lineCap = 'cap' in node ? (node.cap ?? 'butt') : 'butt';
    context.lineJoin = node.kind === 'path' ? (node.join ?? 'miter') : 'miter';
    context.miterLimit = MITER_LIMIT;
    draw(context, node, [w, h], (path) => (path === undefined ? context.stroke() : context.stroke(path)), true);
  }
}

function draw(
  context: Context,
  node: Shape,
  [w, h]: readonly [number, number],
  how: (path?: Outline) => void,
  open: boolean,
): void {
  if (node.kind === 'path') {
    const path = scaled(outlineOf(node.d).outline, ...scaleOf(node, w, h));
    if (path !== undefined) how(path);
    return;
  }
  context.beginPath();
  if (node.kind === 'rect') {
    const radius = Math.min(node.radius ?? 0, w / 2, h / 2);
    if (radius > 0) context.roundRect(0, 0, w, h, radius);
    else context.rect(0, 0, w, h);
  } else arc(context, node, w, h, open);
  how();
}

/** The outline grows, and not the pen. */
function scaled(outline: Outline, x: number, y: number): Outline | undefined {
  if (x === 1 && y === 1) return outline;
  if (x === 0 || y === 0) return undefined;
  const { Path2D } = addon();
  const path = new Path2D();
  path.addPath(outline, { a: x, b: 0, c: 0, d: y, e: 0, f: 0 });
  return path;
}

function arc(context: Context, { start = 0, sweep = 360 }: EllipseNode, w: number, h: number, open: boolean): void {
  const [x, y] = [w / 2, h / 2];
  if (Math.abs(sweep) >= 360) return void context.ellipse(x, y, x, y, 0, 0, Math.PI * 2);
  const from = ((start - 90) * Math.PI) / 180;
  if (!open) context.moveTo(x, y);
  context.ellipse(x, y, x, y, 0, from, from + (sweep * Math.PI) / 180, sweep < 0);
  if (!open) context.closePath();
}

function paintOf(context: Context, paint: Paint, w: number, h: number, theme: Theme): string | CanvasGradient {
  if (typeof paint === 'string') return resolveColour(theme, paint);
  const [x, y] = [w / 2, h / 2];
  let gradient: CanvasGradient;
  if ('radial' in paint) gradient = context.createRadialGradient(x, y, 0, x, y, Math.max(x, y));
  else {
    const angle = (paint.linear * Math.PI) / 180;
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    const half = Math.abs(x * cos) + Math.abs(y * sin);
    gradient = context.createLinearGradient(x - cos * half, y - sin * half, x + cos * half, y + sin * half);
  }
  for (const [at, colour] of paint.stops) gradient.addColorStop(at, resolveColour(theme, colour));
  return gradient;
}
type CanvasGradient = ReturnType<Context['createLinearGradient']>;

function text(context: Context, node: TextNode, { style, lines, dir, height }: Lines): void {
  const { align = 'start', valign = 'top', w = 0, h = height } = node;
  use(context, style);
  context.direction = dir;
  context.textAlign = 'left';
  const free = h - height;
  const top = valign === 'top' ? 0 : valign === 'middle' ? free / 2 : free;
  const right = (align === 'end') !== (dir === 'rtl');
  for (const [index, line] of lines.entries()) {
    if (line.text === '') continue;
    const x = align === 'center' ? (w - line.width) / 2 : right ? w - line.width : 0;
    context.fillText(line.text, x, top + index * style.line + style.baseline);
  }
}
