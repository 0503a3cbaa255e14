/** A character as the nodes of one moment. Pure: the same question has the same answer. */
import { maybe } from '../../kits/maybe.ts';
import type { CharacterState, Expression, SceneNode } from '../scene.ts';
import { blendAt, blinkAt, glanceAt, grained, motionAt } from './motion.ts';
import type { CharacterLook, CharacterMoved, CharacterSpec, MouthShape, PartChanges } from './spec.ts';

export interface CharacterMoment {
  readonly state: CharacterState;
  readonly expression: Expression;
  /** Direction of the eyes, -1..1 each; it looks about by itself if absent. */
  readonly gaze?: readonly [x: number, y: number] | undefined;
  /** Mouth of the present sound (`Mouth`); `rest` if absent. It is shown while it speaks. */
  readonly mouth?: MouthShape | undefined;
  /** Monotonic milliseconds of the picture. */
  readonly at: number;
  /** When this state and expression began. */
  readonly since: number;
  /** Former state: it is blended into the new pose for a quarter of a second. */
  readonly before?: { readonly state: CharacterState; readonly expression: Expression } | undefined;
  /** Size of the box, in panel units. */
  readonly w: number;
  readonly h: number;
  readonly reducedMotion?: boolean;
}

export interface CharacterPicture {
  /**
   * Groups, rectangles, ellipses and paths, in panel units from the corner of the box; ids are those of the parts, the
   * same in each moment.
   */
  readonly nodes: readonly SceneNode[];
  /** Milliseconds from `at` until it looks different, the same pose and mouth presumed; absent: never. */
  readonly next?: number;
}

interface Part {
  readonly [member: string]: unknown;
  readonly id: string;
  readonly kind: string;
  readonly nodes?: readonly Part[];
}

const BLEND_MS = 240;

/**
 * Picture of a `character` node. A renderer calls it with the box of the node and paints `nodes` as it paints those
 * of a group at the node's corner, clipped by nothing; each time it compares them by id with the former ones, and
 * what differs is damage. It calls again after `next` milliseconds, and at once when pose, mouth, box or surroundings
 * change. Pose: `state` of the node, or else of `TreePatch.character`, likewise `expression`; `since` is the
 * monotonic time at which either of them last changed, `before` what they were. Takes 0.1 ms, and never throws for a
 * spec that was checked.
 */
export function characterNodes(spec: CharacterSpec, moment: CharacterMoment): CharacterPicture {
  const { at, since, w, h } = moment;
  const state = spec.states[moment.state];
  const left = state.rests === undefined ? Number.POSITIVE_INFINITY : since + state.rests - at;
  const moves = !moment.reducedMotion && state.still !== true && left > 0;
  const soon: number[] = [];
  const take = <T>({ value, next }: { readonly value: T; readonly next?: number }): T => {
    if (next !== undefined) soon.push(next);
    return value;
  };

  const shown = moment.reducedMotion && moment.mouth !== 'rest' ? 'small' : moment.mouth;
  let changes = changesOf(spec, moment.state, moment.expression, shown);
  const { before } = moment;
  if (before && !moment.reducedMotion) {
    const share = take(blendAt(at - since, spec.blend ?? BLEND_MS));
    if (share < 1) changes = blended(spec, changesOf(spec, before.state, before.expression, shown), changes, share);
  }

  const looks: CharacterLook[] = [spec.expressions[moment.expression], state];
  const own = looks.findLast(({ gaze }) => gaze !== undefined)?.gaze;
  const glances = moves && state.glances === true && own === undefined && moment.gaze === undefined;
  const gaze = moment.gaze ?? own ?? (glances ? take(glanceAt(at)) : ([0, 0] as const));
  const lid = spec.blink && moves ? take(blinkAt(spec.blink.every, at)) : 1;
  const moved = new Map<string, Partial<Record<CharacterMoved, number>>>();
  for (const motion of moves ? looks.flatMap((look) => look.moves ?? []) : []) {
    const value = take(motionAt(motion, at - since));
    moved.set(motion.part, { ...moved.get(motion.part), [motion.property]: value });
  }

  const scale = Math.min(w / spec.view[0], h / spec.view[1]);
  const blinking = new Set(lid < 1 ? spec.blink?.parts : []);
  const place = (part: Part): SceneNode[] => {
    const node: Record<string, unknown> = { ...part, ...changes.get(part.id) };
    move(node, moved.get(part.id), spec.gaze?.[part.id], gaze);
    if (node.opacity === 0) return [];
    if (blinking.has(part.id)) squash(node, lid);
    scaleNode(node, part, scale);
    if (part.nodes) node.nodes = part.nodes.flatMap(place);
    return [node as unknown as SceneNode];
  };
  const nodes = (spec.parts as unknown as readonly Part[]).flatMap(place);
  const [dx, dy] = [(w - spec.view[0] * scale) / 2, (h - spec.view[1] * scale) / 2];
  if (soon.length > 0 && left > 0) soon.push(left);
  const next = soon.length > 0 ? Math.max(1, Math.ceil(Math.min(...soon))) : undefined;
  return { nodes: nodes.map((node) => shifted(node, dx, dy)), ...maybe({ next }) };
}

type Merged = ReadonlyMap<string, Readonly<Record<string, unknown>>>;

function changesOf(
  spec: CharacterSpec,
  state: CharacterState,
  expression: Expression,
  mouth: MouthShape | undefined,
): Merged {
  const merged = new Map<string, Record<string, unknown>>();
  const add = (changes: PartChanges | undefined) => {
    for (const [id, members] of Object.entries(changes ?? {})) merged.set(id, { ...merged.get(id), ...members });
  };
  add(spec.expressions[expression].set);
  add(spec.states[state].set);
  if (state === 'speaking') add(spec.mouth[mouth ?? 'rest']);
  return merged;
}

const NEUTRAL: Readonly<Record<string, number>> = { x: 0, y: 0, opacity: 1, rotate: 0, scale: 1, strokeWidth: 1 };
const BLENDED = ['x', 'y', 'w', 'h', 'opacity', 'rotate', 'scale', 'radius', 'strokeWidth'] as const;

/** Numbers go from one to the other, all else is the new one. */
function blended(spec: CharacterSpec, from: Merged, to: Merged, share: number): Merged {
  const parts = new Map(allParts(spec).map((part) => [part.id, part]));
  const both = new Map<string, Readonly<Record<string, unknown>>>();
  for (const id of new Set([...from.keys(), ...to.keys()])) {
    const part = parts.get(id)!;
    const [a, b] = [
      { ...part, ...from.get(id) },
      { ...part, ...to.get(id) },
    ] as Record<string, unknown>[];
    const mixed: Record<string, unknown> = { ...to.get(id) };
    for (const member of BLENDED) {
      const [first, last] = [a![member] ?? NEUTRAL[member], b![member] ?? NEUTRAL[member]];
      if (typeof first !== 'number' || typeof last !== 'number' || first === last) continue;
      mixed[member] = Math.round((first + (last - first) * share) * 64) / 64;
    }
    both.set(id, mixed);
  }
  return both;
}

const known = new WeakMap<CharacterSpec, readonly Part[]>();

function allParts(spec: CharacterSpec): readonly Part[] {
  const found = known.get(spec);
  if (found) return found;
  const walk = (parts: readonly Part[]): Part[] => parts.flatMap((part) => [part, ...walk(part.nodes ?? [])]);
  const all = walk(spec.parts as unknown as readonly Part[]);
  known.set(spec, all);
  return all;
}

function move(
  node: Record<string, unknown>,
  by: Partial<Record<CharacterMoved, number>> | undefined,
  reach: readonly [number, number] | undefined,
  [x, y]: readonly [number, number],
): void {
  const add = (member: CharacterMoved, value: number) => {
    if (value !== 0) node[member] = Number(node[member] ?? 0) + value;
  };
  if (reach) {
    add('x', grained('x', reach[0] * x));
    add('y', grained('y', reach[1] * y));
  }
  if (!by) return;
  for (const member of ['x', 'y', 'rotate', 'sweep'] as const) add(member, by[member] ?? 0);
  for (const member of ['scale', 'opacity'] as const) {
    const value = by[member];
    if (value !== undefined) node[member] = Math.max(0, Number(node[member] ?? 1) * value);
  }
}

function squash(node: Record<string, unknown>, share: number): void {
  const height = Number(node.h ?? 0);
  node.y = Number(node.y ?? 0) + (height * (1 - share)) / 2;
  node.h = height * share;
}

const LENGTHS = ['x', 'y', 'w', 'h', 'strokeWidth', 'radius'] as const;

function scaleNode(node: Record<string, unknown>, part: Part, scale: number): void {
  // Path data are drawn in the size that the part has at rest.
  if (part.kind === 'path') node.view ??= [part.w, part.h];
  for (const member of LENGTHS) if (typeof node[member] === 'number') node[member] = exact(node[member] * scale);
  if (node.stroke !== undefined && node.strokeWidth === undefined) node.strokeWidth = exact(scale);
  if (typeof node.radius === 'number') node.radius = Math.min(node.radius, Number(node.w) / 2, Number(node.h) / 2);
  const shadow = node.shadow as { readonly x?: number; readonly y?: number; readonly blur: number } | undefined;
  if (shadow) {
    const { x = 0, y = 0, blur } = shadow;
    node.shadow = { ...shadow, x: exact(x * scale), y: exact(y * scale), blur: exact(blur * scale) };
  }
}

function shifted(node: SceneNode, dx: number, dy: number): SceneNode {
  if (dx === 0 && dy === 0) return node;
  return { ...node, x: exact((node.x ?? 0) + dx), y: exact((node.y ?? 0) + dy) };
}

/** Sums of the same numbers are the same numbers, however they came about. */
function exact(value: number): number {
  return Math.round(value * 1_024) / 1_024;
}
