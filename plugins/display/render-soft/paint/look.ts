/** Look of a scene at a moment: nodes in their places, and the areas to paint anew after a change. */

import { maybe } from '@device-core/plugin-api';
import {
  bind,
  type CharacterNode,
  type CharacterPicture,
  intersection,
  PANEL_UNITS,
  quantised,
  type Rect,
  type Scene,
  type SceneNode,
  sceneAt,
  sizeOf,
  type TextNode,
  type Timeline,
  union,
} from '@device-core/plugin-api/scene';
import type { Layer, Surface, Surroundings } from '@device-core/plugin-api/services/renderer';
import { LAYERS } from '@device-core/plugin-api/services/renderer';
import { growth, type Matrix, placed } from './matrix.ts';
import { boundsOf, Outline, type Polygon } from './raster.ts';
import { spreadOf } from './shadow.ts';
import { pathOutline, pie, ring, roundedBox } from './shapes.ts';
import { strokeOf } from './stroke.ts';
import { styleOf, type TextStyle, type Texts } from './text.ts';

export interface Shapes {
  readonly fill?: readonly Polygon[];
  readonly stroke?: readonly Polygon[];
}

export interface TextLook {
  readonly style: TextStyle;
  readonly lines: readonly { readonly text: string; readonly x: number; readonly y: number }[];
}

/** One node in its place. */
export interface Item {
  /** Key of the node within its surface: its id, or its path. */
  readonly key: string;
  /** Everything that decides the look, as one text. */
  readonly sign: string;
  readonly node: SceneNode;
  readonly matrix: Matrix;
  readonly w: number;
  readonly h: number;
  readonly opacity: number;
  /** Pixels that it may reach, its shadow among them. */
  readonly bounds: Rect;
  readonly items?: readonly Item[];
  readonly shapes?: Shapes;
  readonly text?: TextLook;
}

export interface Look {
  readonly id: string;
  readonly layer: Layer;
  readonly scene: Scene;
  readonly box: Rect;
  readonly opacity: number;
  readonly items: readonly Item[];
  /** Leaves by key, in the order of painting. */
  readonly leaves: ReadonlyMap<string, Item>;
  readonly bounds: Rect;
  readonly ground: string;
  /** Monotonic milliseconds at which it looks different by itself; Infinity: never. */
  readonly next: number;
  /** Something opaque lies over all of it. */
  readonly covered?: boolean;
}

export interface Moment {
  /** Monotonic, and of the day. */
  readonly now: number;
  readonly wall: number;
  readonly surroundings: Surroundings;
  /** From units to pixels. */
  readonly scale: readonly [x: number, y: number];
  readonly texts: Texts;
  /** Picture of a `character` node. */
  character?(node: CharacterNode, w: number, h: number): CharacterPicture;
}

const LEAST_OPACITY = 1 / 512;

const json = new WeakMap<SceneNode, string>();
function written(node: SceneNode): string {
  let known = json.get(node);
  if (known === undefined) {
    known = JSON.stringify(node.kind === 'group' ? { ...node, nodes: 0 } : node);
    json.set(node, known);
  }
  return known;
}

/** How the surface looks now. What looks as it did in `before` is taken from there. */
export function lookOf(surface: Surface, before: Look | undefined, moment: Moment, opacity: number): Look {
  const { now, wall, surroundings, scale } = moment;
  const scene = still(surface.scene, now, surface.since, surroundings.reducedMotion);
  const running = (scene.timelines ?? []).map((timeline) => (timeline.at ?? surface.since) + (timeline.delay ?? 0));
  const step = 1_000 / Math.max(1, Math.min(surroundings.fps, surface.fps ?? surroundings.fps));
  let next = running.reduce((least, begins) => Math.min(least, begins > now ? begins : now + step), Infinity);
  const [sx, sy] = scale;
  const outer: Matrix = [sx, 0, 0, sy, surface.box.x * sx, surface.box.y * sy];
  const kept = new Map<string, Item>();
  if (before) for (const item of every(before.items)) kept.set(item.key, item);
  const place = (
    nodes: readonly SceneNode[],
    matrix: Matrix,
    above: string,
    path: string,
    names = '',
  ): readonly Item[] =>
    nodes.flatMap((node, index) => {
      const opacity = quantised('opacity', node.opacity ?? 1);
      if (opacity < LEAST_OPACITY || node.scale === 0) return [];
      const key = node.id === undefined ? `${path}/${index}` : `${names}${node.id}`;
      const [w, h] = sizeOf(node);
      const box = { x: node.x ?? 0, y: node.y ?? 0, w, h };
      const own = placed(matrix, box, node.rotate ?? 0, node.scale ?? 1);
      let words = '';
      if (node.kind === 'text') {
        const bound = bind(node.text, {
          now: wall,
          locale: surroundings.locale,
          timeZone: surroundings.timeZone,
          progress: scene.progress,
        });
        words = bound.text;
        if (bound.next !== undefined) next = Math.min(next, now + Math.max(1, bound.next - wall));
      }
      const sign = `${above}|${own.join()}|${written(node)}|${words}`;
      const known = kept.get(key);
      if (node.kind !== 'group' && node.kind !== 'character') {
        if (known?.sign === sign && !known.items) return [known];
        return [leaf({ key, sign, node, matrix: own, w, h, opacity }, words, moment)];
      }
      const clip = node.kind === 'group' && node.clip;
      const mark = `${above}${opacity < 1 || clip ? sign : ''}`;
      const inner = node.kind === 'group' ? { nodes: node.nodes } : (moment.character?.(node, w, h) ?? { nodes: [] });
      // Names within a character are free: a prefix keeps them apart from the nodes of the scene.
      const items = place(inner.nodes, own, mark, key, node.kind === 'group' ? names : `${key}/`);
      if ('next' in inner && inner.next !== undefined) next = Math.min(next, now + Math.max(step, inner.next));
      if (items.length === 0) return [];
      const reached = items.map(({ bounds }) => bounds).reduce(union);
      const bounds = clip ? intersection(reached, reach(own, w, h, 0)) : reached;
      return [{ key, sign, node, matrix: own, w, h, opacity, bounds, items } satisfies Item];
    });
  const items = place(scene.nodes, outer, '', '');
  const box = boxOf(surface.box, scale);
  const leaves = new Map<string, Item>();
  for (const item of every(items)) if (!item.items) leaves.set(item.key, item);
  // Beyond its box there are shadows of the Core's own alone.
  const bounds = surface.layer === LAYERS.app ? box : items.map((item) => item.bounds).reduce(union, box);
  const ground = JSON.stringify(scene.background ?? '@surface');
  return { id: surface.id, layer: surface.layer, scene, box, opacity, items, leaves, bounds, ground, next };
}

/** Areas in which two looks of the same surface differ. */
export function differences(before: Look, after: Look): readonly Rect[] {
  const whole = [before.bounds, after.bounds];
  if (before.opacity !== after.opacity || before.ground !== after.ground) return whole;
  if (JSON.stringify(before.box) !== JSON.stringify(after.box)) return whole;
  const changed: Rect[] = [];
  let order = -1;
  const places = new Map([...before.leaves.keys()].map((key, index) => [key, index]));
  for (const [key, item] of after.leaves) {
    const former = before.leaves.get(key);
    if (former === item) {
      const at = places.get(key)!;
      if (at < order) changed.push(item.bounds);
      order = Math.max(order, at);
      continue;
    }
    if (former?.sign === item.sign) continue;
    changed.push(item.bounds);
    if (former) changed.push(former.bounds);
  }
  for (const [key, item] of before.leaves) if (!after.leaves.has(key)) changed.push(item.bounds);
  return changed;
}

/** The box in pixels, outward. */
export function boxOf({ x, y, w, h }: Rect, [sx, sy]: readonly [number, number]): Rect {
  const [left, top] = [Math.floor(x * sx), Math.floor(y * sy)];
  return { x: left, y: top, w: Math.ceil((x + w) * sx) - left, h: Math.ceil((y + h) * sy) - top };
}

function* every(items: readonly Item[]): Generator<Item> {
  for (const item of items) {
    yield item;
    if (item.items) yield* every(item.items);
  }
}

/** With the timelines' values as they can be told apart; without motion all of them but fades are at their ends. */
function still(scene: Scene, now: number, since: number, reduced: boolean): Scene {
  const { timelines } = scene;
  if (!timelines || timelines.length === 0) return scene;
  const calm = reduced
    ? timelines.map((timeline) => (timeline.property === 'opacity' ? timeline : ended(timeline)))
    : timelines;
  const then = sceneAt({ ...scene, timelines: calm }, now, since);
  const moving = new Map(timelines.map(({ node, property }) => [`${node} ${property}`, property]));
  const names = new Set(timelines.map(({ node }) => node));
  const round = (node: SceneNode): SceneNode => {
    const inner: SceneNode = node.kind === 'group' ? { ...node, nodes: node.nodes.map(round) } : node;
    if (node.id === undefined || !names.has(node.id)) return inner;
    const values: Record<string, number> = {};
    for (const [name, property] of moving)
      if (name === `${node.id} ${property}`) {
        const value = (node as unknown as Record<string, number | undefined>)[property];
        if (value !== undefined) values[property] = quantised(property, value);
      }
    return { ...inner, ...values } as SceneNode;
  };
  return { ...then, nodes: then.nodes.map(round) };
}

const ended = ({ at: _, delay: __, ...timeline }: Timeline): Timeline => ({
  ...timeline,
  from: timeline.to,
  at: Number.MIN_SAFE_INTEGER,
  ms: 1,
  repeat: 1,
});

type Bare = Pick<Item, 'key' | 'sign' | 'node' | 'matrix' | 'w' | 'h' | 'opacity'>;

function leaf(bare: Bare, words: string, moment: Moment): Item {
  const { node, matrix, w, h } = bare;
  if (node.kind === 'text') return textItem(bare, node, words, moment);
  const shapes = shapesOf(node, matrix, w, h);
  const polygons = [...(shapes?.fill ?? []), ...(shapes?.stroke ?? [])];
  const own = shapes ? boundsOf(polygons) : reach(matrix, w, h, 1);
  const shadow = 'shadow' in node && !moment.surroundings.plain ? node.shadow : undefined;
  if (!shadow) return { ...bare, bounds: own, ...maybe({ shapes }) };
  const size = growth(matrix);
  const more = spreadOf(shadow.blur * size);
  const [dx, dy] = [Math.round((shadow.x ?? 0) * size), Math.round((shadow.y ?? 0) * size)];
  const cast = { x: own.x + dx - more, y: own.y + dy - more, w: own.w + 2 * more, h: own.h + 2 * more };
  return { ...bare, bounds: union(own, cast), ...maybe({ shapes }) };
}

/** Polygons in pixels of what is a shape. */
function shapesOf(node: SceneNode, matrix: Matrix, w: number, h: number): Shapes | undefined {
  if (node.kind !== 'rect' && node.kind !== 'ellipse' && node.kind !== 'path') return undefined;
  const wide = node.stroke === undefined ? 0 : (node.strokeWidth ?? 1);
  const drawn = (draw: (outline: Outline) => void): readonly Polygon[] => {
    const outline = new Outline(matrix);
    draw(outline);
    outline.end();
    return outline.polygons;
  };
  if (node.kind === 'rect') {
    const radius = node.radius ?? 0;
    const box = { x: 0, y: 0, w, h };
    const half = wide / 2;
    const stroke = drawn((outline) => {
      roundedBox(outline, { x: -half, y: -half, w: w + wide, h: h + wide }, radius === 0 ? 0 : radius + half);
      roundedBox(outline, { x: half, y: half, w: w - wide, h: h - wide }, Math.max(0, radius - half), true);
    });
    return parts(node.fill !== undefined && drawn((outline) => roundedBox(outline, box, radius)), wide > 0 && stroke);
  }
  if (node.kind === 'ellipse') {
    const arc = { w, h, start: node.start ?? 0, sweep: node.sweep ?? 360 };
    const fill = node.fill !== undefined && drawn((outline) => pie(outline, arc));
    return parts(fill, wide > 0 && drawn((outline) => ring(outline, arc, wide, node.cap === 'round')));
  }
  const outline = new Outline(matrix);
  pathOutline(outline, node);
  if (wide === 0) return parts(node.fill !== undefined && outline.polygons, false);
  const look = { width: wide * growth(matrix), round: node.join === 'round', roundCap: node.cap === 'round' };
  const stroke = outline.polygons.flatMap((polygon) =>
    strokeOf(polygon, { ...look, closed: outline.closed.has(polygon) }),
  );
  return parts(node.fill !== undefined && outline.polygons, stroke);
}

const parts = (fill: readonly Polygon[] | false, stroke: readonly Polygon[] | false): Shapes => ({
  ...(fill && { fill }),
  ...(stroke && { stroke }),
});

function textItem(bare: Bare, node: TextNode, words: string, { surroundings, texts }: Moment): Item {
  const { matrix, w, h } = bare;
  const style = styleOf(node, surroundings);
  const most = node.lines ?? (node.h === undefined ? 1 : Math.max(1, Math.floor((h + 1) / style.line)));
  const width = node.w === undefined ? undefined : w;
  const { lines, dir } = texts.layout(words, style, { width, lines: most, dir: node.dir });
  const tall = lines.length * style.line;
  const top = node.valign === 'bottom' ? h - tall : node.valign === 'middle' ? (h - tall) / 2 : 0;
  const side = node.align === 'center' ? 0.5 : (node.align === 'end') === (dir === 'ltr') ? 1 : 0;
  const look = lines.map((line, index) => ({
    text: line.text,
    x: (w - line.width) * side,
    y: top + index * style.line + style.baseline,
  }));
  const left = Math.min(0, ...look.map(({ x }) => x));
  const right = Math.max(w, ...look.map(({ x }, index) => x + lines[index]!.width));
  const slack = style.size * 0.3;
  const bounds = reach(matrix, right - left, Math.max(h, tall), slack, [left, Math.min(0, top)]);
  return { ...bare, bounds, text: { style, lines: look } };
}

/** Pixels that a box reaches, `more` units around it. */
function reach(
  [a, b, c, d, e, f]: Matrix,
  w: number,
  h: number,
  more: number,
  [x, y]: readonly [number, number] = [0, 0],
): Rect {
  const [left, top, right, bottom] = [x - more, y - more, x + w + more, y + h + more];
  const corners = [left, top, right, top, right, bottom, left, bottom];
  const points = corners.map((_, at) => {
    const [px, py] = [corners[at - (at % 2)]!, corners[at - (at % 2) + 1]!];
    return at % 2 === 0 ? a * px + c * py + e : b * px + d * py + f;
  });
  const bounds = boundsOf([points]);
  return { x: bounds.x - 1, y: bounds.y - 1, w: bounds.w + 2, h: bounds.h + 2 };
}

export const scaleOf = ({
  width,
  height,
}: {
  readonly width: number;
  readonly height: number;
}): readonly [number, number] => [width / PANEL_UNITS, height / PANEL_UNITS];
