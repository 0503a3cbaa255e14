/** Painted items in their order, each with its place, so that two pictures can be compared without looking at a pixel. */
import { type Rect, type SceneNode, union } from '@device-core/plugin-api/scene';
import { type Matrix, sameMatrix, sameRect } from './geometry.ts';
import type { Lines } from './text.ts';

export type Leaf = Exclude<SceneNode, { readonly kind: 'group' | 'character' }>;

/** Nothing is painted outside of it. */
export interface Clip {
  readonly matrix: Matrix;
  readonly w: number;
  readonly h: number;
  readonly radius: number;
  /** Whole pixels that it reaches. */
  readonly bounds: Rect;
  readonly outer: Clip | undefined;
}

/** The box of a node on the panel. */
export interface Place {
  readonly matrix: Matrix;
  readonly w: number;
  readonly h: number;
  readonly clip: Clip | undefined;
}

export interface Item extends Place {
  readonly kind: 'item';
  readonly node: Leaf;
  readonly alpha: number;
  readonly bounds: Rect;
  /** Whole pixels of which nothing below is seen. */
  readonly cover: Rect | undefined;
  readonly lines?: Lines;
  /** Name of an image or a video, how often it has changed, and which frame of it is shown. */
  readonly picture?: string;
  readonly turn: number;
  readonly frame: number;
}

/** Several things that are less than opaque as one. */
export interface Layer {
  readonly kind: 'layer';
  readonly id: string | undefined;
  readonly alpha: number;
  readonly items: readonly Painted[];
  readonly bounds: Rect;
}
export type Painted = Item | Layer;

/** Members of a node that other fields hold: its picture does not depend on them. */
const PLACES: ReadonlySet<string> = new Set([
  'id',
  'x',
  'y',
  'w',
  'h',
  'opacity',
  'rotate',
  'scale',
  'label',
  'tap',
  'text',
]);

/** Adds to `damage` what looks different: the place of it before, and the place of it now. */
export function differences(before: readonly Painted[], after: readonly Painted[], damage: Rect[]): void {
  const both = Math.min(before.length, after.length);
  let start = 0;
  while (start < both && matches(before[start]!, after[start]!)) start += 1;
  let end = 0;
  while (end < both - start && matches(before[before.length - 1 - end]!, after[after.length - 1 - end]!)) end += 1;
  for (let index = 0; index < start; index += 1) compare(before[index]!, after[index]!, damage);
  for (let index = 1; index <= end; index += 1)
    compare(before[before.length - index]!, after[after.length - index]!, damage);
  for (let index = start; index < before.length - end; index += 1) damage.push(before[index]!.bounds);
  for (let index = start; index < after.length - end; index += 1) damage.push(after[index]!.bounds);
}

/** May be the same thing at two times. */
function matches(one: Painted, other: Painted): boolean {
  if (one === other) return true;
  if (one.kind === 'layer') return other.kind === 'layer' && one.id === other.id;
  return other.kind === 'item' && one.node.kind === other.node.kind && one.node.id === other.node.id;
}

function compare(before: Painted, after: Painted, damage: Rect[]): void {
  if (before === after) return;
  if (before.kind === 'layer' && after.kind === 'layer' && before.alpha === after.alpha)
    differences(before.items, after.items, damage);
  else if (before.kind === 'layer' || after.kind === 'layer' || !same(before, after))
    damage.push(before.bounds, after.bounds);
}

function same(one: Item, other: Item): boolean {
  return (
    one.alpha === other.alpha &&
    one.w === other.w &&
    one.h === other.h &&
    one.turn === other.turn &&
    one.frame === other.frame &&
    sameRect(one.bounds, other.bounds) &&
    sameMatrix(one.matrix, other.matrix) &&
    sameClip(one.clip, other.clip) &&
    sameLines(one.lines, other.lines) &&
    sameNode(one.node, other.node)
  );
}

function sameClip(one: Clip | undefined, other: Clip | undefined): boolean {
  if (one === other) return true;
  if (one === undefined || other === undefined) return false;
  return (
    one.w === other.w &&
    one.h === other.h &&
    one.radius === other.radius &&
    sameMatrix(one.matrix, other.matrix) &&
    sameClip(one.outer, other.outer)
  );
}

/** Those that were laid out in the same way are the same object most often. */
function sameLines(one: Lines | undefined, other: Lines | undefined): boolean {
  if (one === other) return true;
  if (one === undefined || other === undefined || one.dir !== other.dir) return false;
  const [a, b] = [one.style, other.style];
  return (
    a.font === b.font &&
    a.line === b.line &&
    a.tracking === b.tracking &&
    a.tabular === b.tabular &&
    one.lines.length === other.lines.length &&
    one.lines.every(({ text }, index) => text === other.lines[index]!.text)
  );
}

function sameNode(one: Leaf, other: Leaf): boolean {
  if (one === other) return true;
  const [a, b] = [one as unknown as Record<string, unknown>, other as unknown as Record<string, unknown>];
  for (const name in a) if (!PLACES.has(name) && !sameMember(a[name], b[name])) return false;
  for (const name in b) if (!PLACES.has(name) && !(name in a) && b[name] !== undefined) return false;
  return true;
}

function sameMember(one: unknown, other: unknown): boolean {
  return one === other || (typeof one === 'object' && JSON.stringify(one) === JSON.stringify(other));
}

/** All that they reach; undefined for none. */
export function boundsOf(items: readonly Painted[]): Rect | undefined {
  let all: Rect | undefined;
  for (const { bounds } of items) all = all === undefined ? bounds : union(all, bounds);
  return all;
}
