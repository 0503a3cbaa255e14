/** From a scene to what is painted of it at a moment, and to the moment at which it looks different next. */

import { maybe } from '@device-core/plugin-api';
import {
  type Animated,
  bind,
  type CharacterNode,
  characterNodes,
  type GroupNode,
  intersection,
  type NodeBase,
  type Paint,
  propertyOf,
  quantised,
  type Rect,
  type Scene,
  type SceneNode,
  type SpriteNode,
  sizeOf,
  type TextNode,
  type Timeline,
  valueAt,
} from '@device-core/plugin-api/scene';
import type { Surroundings } from '@device-core/plugin-api/services/renderer';
import type { Actor } from './actor.ts';
import { opaque } from './colours.ts';
import { filled, type Matrix, NOWHERE, placed, reach, stretchOf } from './geometry.ts';
import { boundsOf, type Clip, type Item, type Leaf, type Painted, type Place } from './items.ts';
import { outlineBox } from './outlines.ts';
import type { Lines, Texts } from './text.ts';

/** Surroundings of a scene's build. */
export interface Look {
  readonly surroundings: Surroundings;
  readonly otherwise: 'ltr' | 'rtl';
  readonly texts: Texts;
  readonly actor: Actor;
  /** Monotonic, and of the wall. */
  readonly now: number;
  readonly wall: number;
  /** Milliseconds between two frames of what moves. */
  readonly step: number;
  /** Whole panel. */
  readonly panel: Rect;
  /** Surface of the video streams, which may have the same name in two surfaces. */
  readonly surface: string;
  /** How often a picture has changed; 0: there is none. */
  turnOf(picture: string): number;
}

export interface Built {
  readonly items: readonly Painted[];
  /** Monotonic milliseconds at which it looks different next, by itself. */
  readonly next: number;
  /** There is a character in it, and it speaks. */
  readonly acts: boolean;
  readonly speaks: boolean;
}

type Values = ReadonlyMap<string, Partial<Record<Animated, number>>>;

/** Frames ahead that are looked at for the next change of something slow. */
const AHEAD = 32;
const MITER = 4;
export const MITER_LIMIT = MITER;

/** The scene on its ground, which is as large as its place. */
export function build(scene: Scene, since: number, place: Place, look: Look): Built {
  const builder = new Builder(scene, since, look);
  const { matrix, w, h, clip } = place;
  const ground = { kind: 'rect', w, h, fill: scene.background ?? '@surface' } as const;
  const items = [...builder.leaf(ground, place, 1), ...builder.nodes(scene.nodes, matrix, clip)];
  const { next, acts, speaks } = builder;
  return { items, next, acts, speaks };
}

class Builder {
  readonly #look: Look;
  readonly #values: Values;
  readonly #progress: number | undefined;
  readonly #since: number;
  next = Number.POSITIVE_INFINITY;
  acts = false;
  speaks = false;

  constructor(scene: Scene, since: number, look: Look) {
    this.#look = look;
    this.#progress = scene.progress;
    this.#since = since;
    this.#values = this.#moved(scene, since);
  }

  nodes(nodes: readonly SceneNode[], matrix: Matrix, clip: Clip | undefined): Painted[] {
    const items: Painted[] = [];
    for (const node of nodes) this.#node(node, matrix, clip, items);
    return items;
  }

  #node(node: SceneNode, outer: Matrix, clip: Clip | undefined, items: Painted[]): void {
    const moved = node.id === undefined ? undefined : this.#values.get(node.id);
    const now = moved === undefined ? node : ({ ...node, ...moved } as SceneNode);
    const { x = 0, y = 0, opacity = 1, rotate = 0, scale = 1 } = now as NodeBase;
    if (opacity <= 0 || scale === 0) return;
    const [w, h] = sizeOf(now);
    const matrix = placed(outer, { x, y, w, h }, rotate, scale);
    if (now.kind === 'character') {
      for (const item of this.#character(now, { matrix, w, h, clip }, opacity)) items.push(item);
      return;
    }
    if (now.kind !== 'group') {
      for (const item of this.leaf(now, { matrix, w, h, clip }, opacity)) items.push(item);
      return;
    }
    const inner = now.clip === true ? clipTo(matrix, w, h, now.radius ?? 0, clip) : clip;
    if (inner !== clip && inner !== undefined && empty(inner.bounds)) return;
    const children = this.nodes(now.nodes, matrix, inner);
    for (const item of faded(now, opacity, children)) items.push(item);
  }

  #character(node: CharacterNode, { matrix, w, h, clip }: Place, opacity: number): readonly Painted[] {
    const { actor, now, surroundings } = this.#look;
    const figure = actor.figure;
    if (figure === undefined) return [];
    const state = node.state ?? actor.pose.state;
    this.acts = true;
    this.speaks ||= state === 'speaking';
    const mouth = state === 'speaking' ? actor.mouth.at(now) : undefined;
    const { nodes, next } = characterNodes(figure, {
      state,
      expression: node.expression ?? actor.pose.expression,
      gaze: actor.pose.gaze,
      mouth: mouth?.shape,
      at: now,
      since: actor.since,
      before: actor.before,
      w,
      h,
      reducedMotion: surroundings.reducedMotion,
    });
    for (const soon of [next, mouth?.next]) if (soon !== undefined) this.#wake(now + soon);
    // Its parts have names of their own: no timeline of the scene means them.
    const parts = new Builder({ scene: 1, nodes: [] }, this.#since, this.#look).nodes(nodes, matrix, clip);
    return layered(node.id, opacity, parts);
  }

  /** One thing, or nothing where it is not seen. */
  leaf(node: Leaf, place: Place, alpha: number): readonly Painted[] {
    const { w, clip } = place;
    const lines = node.kind === 'text' ? this.#lines(node, w) : undefined;
    const picture = pictureOf(node, this.#look.surface);
    const frame = node.kind === 'sprite' ? this.#frame(node) : 0;
    const turn = picture === undefined ? 0 : this.#look.turnOf(picture);
    const all = reached(node, place, lines, this.#look.surroundings.plain);
    const bounds = intersection(clip === undefined ? all : intersection(all, clip.bounds), this.#look.panel);
    if (empty(bounds)) return [];
    const cover = alpha === 1 ? covered(node, place, this.#look.surroundings) : undefined;
    const item: Item = {
      ...place,
      kind: 'item',
      node,
      alpha,
      bounds,
      cover,
      frame,
      turn,
      ...(picture && { picture }),
      ...maybe({ lines }),
    };
    // A node painted in two strokes would show one through the other.
    return alpha < 1 && twice(node)
      ? [{ kind: 'layer', id: node.id, alpha, items: [{ ...item, alpha: 1 }], bounds }]
      : [item];
  }

  #lines(node: TextNode, w: number): Lines {
    const { texts, surroundings, otherwise, wall } = this.#look;
    const { locale, timeZone } = surroundings;
    const { text, next } = bind(node.text, { now: wall, locale, timeZone, progress: this.#progress });
    if (next !== undefined) this.#wake(this.#look.now + Math.max(1, next - wall));
    return texts.of(node.w === undefined ? node : { ...node, w }, text, surroundings, otherwise);
  }

  #frame({ frames, frame = 0, fps, loop = true }: SpriteNode): number {
    if (fps === undefined || this.#look.surroundings.reducedMotion) return Math.min(frame, frames - 1);
    const at = Math.max(0, Math.floor(((this.#look.now - this.#since) * fps) / 1_000));
    if (!loop && at >= frames - 1) return frames - 1;
    this.#wake(this.#since + ((at + 1) * 1_000) / fps);
    return at % frames;
  }

  #wake(at: number): void {
    this.next = Math.min(this.next, at);
  }

  /** Values of timelines now, in steps that can be seen. */
  #moved(scene: Scene, since: number): Values {
    const { timelines = [] } = scene;
    const values = new Map<string, Partial<Record<Animated, number>>>();
    if (timelines.length === 0) return values;
    const nodes = new Map<string, NodeBase>();
    gather(scene.nodes, nodes);
    const { step, surroundings } = this.#look;
    const now = tickOf(this.#look.now, step);
    for (const timeline of timelines) {
      const node = nodes.get(timeline.node);
      if (node === undefined) continue;
      const { property } = timeline;
      const from = propertyOf(node, property);
      const elapsed = now - (timeline.at ?? since);
      const value = jumps(timeline, surroundings)
        ? (rest(timeline) ?? from)
        : this.#running(timeline, from, elapsed, now, step);
      values.set(timeline.node, { ...values.get(timeline.node), [property]: value });
    }
    return values;
  }

  #running(timeline: Timeline, from: number, elapsed: number, now: number, step: number): number {
    const at = (ms: number): number => {
      const moment = valueAt(timeline, from, ms);
      return moment.over ? timeline.to : quantised(timeline.property, moment.value);
    };
    const value = at(elapsed);
    if (valueAt(timeline, from, elapsed).over) return value;
    const waits = (timeline.delay ?? 0) - elapsed;
    if (waits > step) this.#wake(now + waits);
    else {
      let ahead = 1;
      while (ahead < AHEAD && at(elapsed + ahead * step) === value) ahead += 1;
      this.#wake(tickAfter(now, step, ahead));
    }
    return value;
  }
}

/** A frame may come so much of a step before the step that it shows: panels have a beat of their own. */
const EARLY = 0.25;

/**
 * Everything that moves does so in the same frames, at whole steps of the clock: `ahead` of them from now. Between two
 * steps nothing moves, so that it does not matter when something is looked at.
 */
export const tickAfter = (now: number, step: number, ahead = 1): number =>
  (Math.floor(now / step + EARLY) + ahead) * step;

/** The step that a frame of now shows. */
export const tickOf = (now: number, step: number): number => tickAfter(now, step, 0);

/** True where a change at `next` belongs into a frame of now. */
export const due = (next: number, now: number, step: number): boolean => next <= now + EARLY * step;

/** Motion jumps to its end where the person wants less of it; fades still run. */
function jumps({ property, repeat = 1 }: Timeline, { reducedMotion }: Surroundings): boolean {
  return reducedMotion && (property !== 'opacity' || repeat === 0);
}

/** Resting value of a timeline; undefined: the node's value. */
const rest = ({ repeat, alternate, from, to }: Timeline): number | undefined => (repeat === 0 && alternate ? from : to);

function gather(nodes: readonly SceneNode[], found: Map<string, NodeBase>): void {
  for (const node of nodes) {
    if (node.id !== undefined) found.set(node.id, node);
    if (node.kind === 'group') gather(node.nodes, found);
  }
}

const empty = ({ w, h }: Rect): boolean => w <= 0 || h <= 0;

export function clipTo(matrix: Matrix, w: number, h: number, radius: number, outer: Clip | undefined): Clip {
  const own = reach(matrix, { x: 0, y: 0, w, h });
  return { matrix, w, h, radius, outer, bounds: outer === undefined ? own : intersection(own, outer.bounds) };
}

/** A translucent group is painted apart, and laid over as one. */
function faded(group: GroupNode, alpha: number, items: readonly Painted[]): readonly Painted[] {
  if (alpha >= 1 || items.length === 0) return items;
  const [first] = items;
  if (items.length === 1 && first?.kind === 'item' && !twice(first.node))
    return [{ ...first, alpha: first.alpha * alpha, cover: undefined }];
  return [{ kind: 'layer', id: group.id, alpha, items, bounds: boundsOf(items)! }];
}

export const layered = (id: string | undefined, alpha: number, items: readonly Painted[]): readonly Painted[] =>
  alpha >= 1 || items.length === 0 ? items : [{ kind: 'layer', id, alpha, items, bounds: boundsOf(items)! }];

/** Under which name `Images` has it. */
function pictureOf(node: Leaf, surface: string): string | undefined {
  if (node.kind === 'image' || node.kind === 'sprite') return node.image;
  return node.kind === 'video' ? streamOf(surface, node.stream) : undefined;
}

export const streamOf = (surface: string, stream: string): string => `stream ${surface} ${stream}`;

function twice(node: Leaf): boolean {
  return 'fill' in node && node.fill !== undefined && (node.stroke !== undefined || node.shadow !== undefined);
}

/** Whole pixels that it reaches: with its shadow, its stroke and its smoothed edges. */
function reached(node: Leaf, { matrix, w, h }: Place, lines: Lines | undefined, plain: boolean): Rect {
  if (node.kind === 'text') return reachOfText(node, matrix, [w, h], lines!);
  if (node.kind !== 'rect' && node.kind !== 'ellipse' && node.kind !== 'path')
    return reach(matrix, { x: 0, y: 0, w, h });
  if (node.fill === undefined && node.stroke === undefined) return NOWHERE;
  const half = node.stroke === undefined ? 0 : (node.strokeWidth ?? 1) / 2;
  const corner = node.kind === 'path' && node.join !== 'round' ? half * MITER : half;
  const box = node.kind === 'path' ? outlineBox(node, w, h) : { x: 0, y: 0, w, h };
  const own = reach(matrix, grown(box, corner, corner));
  const { shadow } = node;
  if (shadow === undefined || plain) return own;
  const stretch = stretchOf(matrix);
  // Three standard deviations, and what a filter of boxes adds to them.
  const blur = Math.ceil(shadow.blur * stretch * 3) + 2;
  const [dx, dy] = [(shadow.x ?? 0) * stretch, (shadow.y ?? 0) * stretch];
  const x = Math.floor(own.x + Math.min(0, dx - blur));
  const y = Math.floor(own.y + Math.min(0, dy - blur));
  return {
    x,
    y,
    w: Math.ceil(own.x + own.w + Math.max(0, dx + blur)) - x,
    h: Math.ceil(own.y + own.h + Math.max(0, dy + blur)) - y,
  };
}

/** Accents and slanted letters reach beyond their line; what reaches farther is cut. */
function reachOfText(node: TextNode, matrix: Matrix, [w, h]: readonly [number, number], lines: Lines): Rect {
  if (lines.lines.every(({ text }) => text === '')) return NOWHERE;
  const { size } = lines.style;
  const wide = Math.max(w, lines.width);
  const start = node.w === undefined ? wide : Math.max(0, lines.width - w);
  const high = Math.max(h, lines.height);
  const top = node.h === undefined ? 0 : Math.max(0, lines.height - h);
  const more = size * 0.4;
  return reach(matrix, grown({ x: 0, y: 0, w: wide, h: high }, start + more, top + more));
}

const grown = ({ x, y, w, h }: Rect, dx: number, dy: number): Rect => ({
  x: x - dx,
  y: y - dy,
  w: w + 2 * dx,
  h: h + 2 * dy,
});

function covered(node: Leaf, { matrix, w, h, clip }: Place, { theme }: Surroundings): Rect | undefined {
  if (node.kind !== 'rect' || node.fill === undefined || !opaquePaint(node.fill, theme)) return undefined;
  const radius = Math.min(node.radius ?? 0, w / 2, h / 2);
  let area = filled(matrix, grown({ x: 0, y: 0, w, h }, -radius, 0));
  for (let one = clip; one !== undefined; one = one.outer)
    area = intersection(area, filled(one.matrix, grown({ x: 0, y: 0, w: one.w, h: one.h }, -one.radius, -one.radius)));
  return empty(area) ? undefined : area;
}

function opaquePaint(paint: Paint, theme: Surroundings['theme']): boolean {
  return typeof paint === 'string' ? opaque(paint, theme) : paint.stops.every(([, colour]) => opaque(colour, theme));
}
