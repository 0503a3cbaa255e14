/** Paints a surface with its nodes, from below. `left-out.ts` names the looks that are left out. */
import {
  bind,
  type CharacterNode,
  characterNodes,
  type ImageNode,
  PANEL_UNITS,
  type Rect,
  type Scene,
  type SceneNode,
  sceneAt,
  sizeOf,
  type TextNode,
} from '@device-core/plugin-api/scene';
import type { Surface } from '@device-core/plugin-api/services/renderer';
import type { Tree } from '../../shared/tree.ts';
import type { Bitmap } from '../png.ts';
import { type Canvas, roundedOut } from './canvas.ts';
import { type Ink, inkOf } from './ink.ts';
import { growth, type Matrix, placed, upright } from './matrix.ts';
import { boundsOf, Outline, type Polygon, rasterise } from './raster.ts';
import { ellipse, pathOutline, roundedBox } from './shapes.ts';
import { strokeOf } from './stroke.ts';
import { styleOf, type Texts } from './text.ts';

const LEAST_OPACITY = 1 / 512;
/** A timeline that takes longer is shown by a step a second, any other by its end. */
const SLOW_MS = 2_000;
const STEP_MS = 1_000;

export interface Moment {
  readonly tree: Tree;
  /** Monotonic milliseconds, and those of the day. */
  readonly now: number;
  readonly wall: number;
  readonly texts: Texts;
  readonly images: ReadonlyMap<string, Bitmap>;
}

export class Painter {
  /** Monotonic milliseconds at which something painted looks different by itself. */
  next = Number.POSITIVE_INFINITY;
  readonly #canvas: Canvas;
  readonly #moment: Moment;
  #progress: number | undefined;

  constructor(canvas: Canvas, moment: Moment) {
    this.#canvas = canvas;
    this.#moment = moment;
  }

  /** The box in whole pixels. */
  boxOf({ box: { x, y, w, h } }: Surface): Rect {
    const [sx, sy] = this.#scale;
    return roundedOut({ x: x * sx, y: y * sy, w: w * sx, h: h * sy });
  }

  /** Nothing below it is seen within the rectangle. */
  covers(surface: Surface, { x, y, w, h }: Rect): boolean {
    const box = this.boxOf(surface);
    const fills = box.x <= x && box.y <= y && box.x + box.w >= x + w && box.y + box.h >= y + h;
    return fills && this.#ground(surface).alpha === 255;
  }

  paint(surface: Surface): void {
    const [sx, sy] = this.#scale;
    const box = this.boxOf(surface);
    const scene = this.#inSteps(surface);
    this.#progress = scene.progress;
    this.#canvas.within(box, () => {
      this.#canvas.fillBox(box.x, box.y, box.w, box.h, this.#ground(surface));
      this.#nodes(scene.nodes, [sx, 0, 0, sy, surface.box.x * sx, surface.box.y * sy], surface.opacity ?? 1);
    });
  }

  get #scale(): readonly [number, number] {
    return [this.#canvas.width / PANEL_UNITS, this.#canvas.height / PANEL_UNITS];
  }

  #ground({ scene, opacity }: Surface): Ink {
    return inkOf(this.#moment.tree.surroundings.theme, scene.background ?? '@surface', opacity);
  }

  #inSteps({ scene, since }: Surface): Scene {
    const { now, tree } = this.#moment;
    const { reducedMotion } = tree.surroundings;
    const timelines = scene.timelines?.map((timeline) => {
      const { at = since, delay = 0, ms, repeat = 1, property } = timeline;
      const slow = ms > SLOW_MS && repeat === 1 && (property === 'opacity' || !reducedMotion);
      const [begins, ends] = [at + delay, at + delay + (slow ? ms : 0)];
      if (now < begins) this.next = Math.min(this.next, begins);
      else if (now < ends) this.next = Math.min(this.next, ends, now + STEP_MS);
      return slow ? timeline : { ...timeline, at: at - 1, ms: 1, repeat: 1 };
    });
    return timelines ? sceneAt({ ...scene, timelines }, now, since) : scene;
  }

  #nodes(nodes: readonly SceneNode[], matrix: Matrix, opacity: number): void {
    for (const node of nodes) this.#node(node, matrix, opacity * (node.opacity ?? 1));
  }

  #node(node: SceneNode, outer: Matrix, opacity: number): void {
    if (opacity < LEAST_OPACITY || node.scale === 0) return;
    const [w, h] = sizeOf(node);
    const matrix = placed(outer, { x: node.x ?? 0, y: node.y ?? 0, w, h }, node.rotate ?? 0, node.scale ?? 1);
    const inner = (nodes: readonly SceneNode[]) => () => this.#nodes(nodes, matrix, opacity);
    if (node.kind === 'group' && node.clip) this.#canvas.within(boxIn(matrix, w, h), inner(node.nodes));
    else if (node.kind === 'group') inner(node.nodes)();
    else if (node.kind === 'character') inner(this.#character(node, w, h))();
    else if (node.kind === 'text') this.#text(node, matrix, opacity);
    else if (node.kind === 'rect' || node.kind === 'ellipse' || node.kind === 'path')
      this.#shape(node, matrix, { w, h }, opacity);
    else if (!(node.kind === 'image' && this.#image(node, matrix, opacity))) this.#stand(node, matrix, opacity);
  }

  #character({ state, expression }: CharacterNode, w: number, h: number): readonly SceneNode[] {
    const { figure, pose } = this.#moment.tree;
    if (!figure) return [];
    const look = { ...pose, state: state ?? pose.state, expression: expression ?? pose.expression };
    return characterNodes(figure, { ...look, mouth: 'rest', since: 0, at: 0, w, h, reducedMotion: true }).nodes;
  }

  #shape(
    node: Extract<SceneNode, { kind: 'rect' | 'ellipse' | 'path' }>,
    matrix: Matrix,
    { w, h }: { readonly w: number; readonly h: number },
    opacity: number,
  ): void {
    const { theme } = this.#moment.tree.surroundings;
    const outlineOf = (filled: boolean): Outline => {
      const outline = new Outline(matrix);
      if (node.kind === 'rect') roundedBox(outline, w, h, node.radius ?? 0);
      else if (node.kind === 'ellipse') ellipse(outline, { ...node, w, h }, filled);
      else pathOutline(outline, node);
      return outline;
    };
    if (node.fill !== undefined) {
      const ink = inkOf(theme, node.fill, opacity);
      const radius = node.kind === 'rect' && upright(matrix) ? (node.radius ?? 0) : undefined;
      if (radius === undefined) this.#fill(outlineOf(true).polygons, ink);
      else this.#box(matrix, { w, h, radius }, ink, () => outlineOf(true).polygons);
    }
    const width = node.strokeWidth ?? 1;
    if (node.stroke === undefined || width === 0) return;
    const outline = outlineOf(false);
    const look = { width: width * growth(matrix), roundCap: 'cap' in node && node.cap === 'round' };
    const lines = outline.polygons.flatMap((polygon) =>
      strokeOf(polygon, { ...look, closed: outline.closed.has(polygon) }),
    );
    this.#fill(lines, inkOf(theme, node.stroke, opacity));
  }

  /** Most of a card is flat: only the rows of its corners have an outline. */
  #box(
    [a, , , d, e, f]: Matrix,
    { w, h, radius }: { readonly w: number; readonly h: number; readonly radius: number },
    ink: Ink,
    outline: () => readonly Polygon[],
  ): void {
    const canvas = this.#canvas;
    const [height, corner] = [h * d, Math.ceil(Math.min(radius, w / 2, h / 2) * d) + 1];
    const [from, to] = [Math.ceil(f) + corner, Math.floor(f + height) - corner];
    if (radius === 0) canvas.fillBox(e, f, w * a, height, ink);
    else if (to <= from) this.#fill(outline(), ink);
    else {
      const polygons = outline();
      const { x, y, w: wide, h: high } = boundsOf(polygons);
      canvas.within({ x, y, w: wide, h: from - y }, () => this.#fill(polygons, ink));
      canvas.within({ x, y: to, w: wide, h: y + high - to }, () => this.#fill(polygons, ink));
      canvas.fillBox(e, from, w * a, to - from, ink);
    }
  }

  #fill(polygons: readonly Polygon[], ink: Ink): void {
    this.#canvas.fillMask(rasterise(polygons, boundsOf(polygons), this.#canvas.clip), ink);
  }

  #text(node: TextNode, matrix: Matrix, opacity: number): void {
    const { tree, texts, now, wall } = this.#moment;
    const { surroundings } = tree;
    const { locale, timeZone } = surroundings;
    const { text, next } = bind(node.text, { now: wall, locale, timeZone, progress: this.#progress });
    if (next !== undefined) this.next = Math.min(this.next, now + Math.max(1, next - wall));
    const [w, h] = sizeOf(node);
    const style = styleOf(node, surroundings);
    const most = node.lines ?? (node.h === undefined ? 1 : Math.max(1, Math.floor((h + 1) / style.line)));
    const width = node.w === undefined ? undefined : w;
    const { lines, dir } = texts.layout(text, style, { width, lines: most, dir: node.dir });
    const tall = lines.length * style.line;
    const top = node.valign === 'bottom' ? h - tall : node.valign === 'middle' ? (h - tall) / 2 : 0;
    const side = node.align === 'center' ? 0.5 : (node.align === 'end') === (dir === 'ltr') ? 1 : 0;
    const ink = inkOf(surroundings.theme, node.colour ?? '@text', opacity);
    for (const [index, line] of lines.entries()) {
      const place = { text: line.text, x: (w - line.width) * side, y: top + index * style.line + style.baseline };
      texts.draw(this.#canvas, place, style, ink, matrix);
    }
  }

  /** False where there is no bitmap of it. */
  #image(node: ImageNode, matrix: Matrix, opacity: number): boolean {
    const bitmap = this.#moment.images.get(node.image);
    if (!bitmap || !upright(matrix)) return false;
    const [a, , , d, e, f] = matrix;
    const [w, h] = sizeOf(node);
    const [wide, high] = [w * a, h * d];
    const [perX, perY] = [wide / bitmap.width, high / bitmap.height];
    const fits = { cover: Math.max(perX, perY), contain: Math.min(perX, perY), fill: 0 }[node.fit ?? 'cover'];
    const [sx, sy] = fits === 0 ? [perX, perY] : [fits, fits];
    const box = { w: Math.min(wide, bitmap.width * sx), h: Math.min(high, bitmap.height * sy) };
    const part = { w: box.w / sx, h: box.h / sy };
    this.#canvas.putBitmap(
      bitmap,
      { ...part, x: (bitmap.width - part.w) / 2, y: (bitmap.height - part.h) / 2 },
      { ...box, x: e + (wide - box.w) / 2, y: f + (high - box.h) / 2 },
      opacity,
    );
    return true;
  }

  /** A field with the node's label, for a node that has no picture here. */
  #stand(node: SceneNode, matrix: Matrix, opacity: number): void {
    const [w, h] = sizeOf(node);
    const box = { x: 0, y: 0, w, h };
    const radius = 'radius' in node ? (node.radius ?? 0) : Math.min(16, w / 4, h / 4);
    this.#node({ kind: 'rect', ...box, radius, fill: '@sunken' }, matrix, opacity);
    const label = (node.label ?? '').replaceAll(/[{}]/g, '$&$&');
    const words = { kind: 'text', ...box, text: label, role: 'caption', colour: '@text-soft' } as const;
    const { size, line } = styleOf(words, this.#moment.tree.surroundings);
    if (w >= 3 * size && h >= line)
      this.#node({ ...words, x: size / 2, w: w - size, align: 'center', valign: 'middle' }, matrix, opacity);
  }
}

/** Pixels around a box that may be turned. */
function boxIn(matrix: Matrix, w: number, h: number): Rect {
  const outline = new Outline(matrix);
  roundedBox(outline, w, h, 0);
  return boundsOf(outline.polygons);
}
