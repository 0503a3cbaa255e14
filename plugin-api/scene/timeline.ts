/** Timelines: what a property is at a moment. Both renderers and whoever looks for what was touched ask here, so that they agree. */
import { nodesOf } from './check.ts';
import type { Animated, Easing, GroupNode, NodeBase, Scene, SceneNode, Timeline } from './scene.ts';

const CURVES: Readonly<Record<Easing, (share: number) => number>> = {
  linear: (share) => share,
  in: (share) => share ** 3,
  out: (share) => 1 - (1 - share) ** 3,
  'in-out': (share) => (share < 0.5 ? 4 * share ** 3 : 1 - (2 - 2 * share) ** 3 / 2),
  // A damped swing that goes 9 % too far once and is still at its end.
  spring: (share) => (share === 1 ? 1 : 1 - Math.exp(-7 * share) * Math.cos(9 * share)),
};

/** Smallest visible change of each property. */
const STEPS: Readonly<Record<Animated, number>> = {
  x: 0.5,
  y: 0.5,
  w: 0.5,
  h: 0.5,
  opacity: 1 / 255,
  rotate: 0.25,
  scale: 1 / 256,
  sweep: 0.5,
};
/** Value of a property that a node does not set. */
const ABSENT: Readonly<Record<Animated, number>> = {
  x: 0,
  y: 0,
  w: 0,
  h: 0,
  opacity: 1,
  rotate: 0,
  scale: 1,
  sweep: 360,
};
const LEAST: Readonly<Partial<Record<Animated, number>>> = { w: 0, h: 0, opacity: 0, scale: 0 };

export interface Moment {
  readonly value: number;
  readonly over: boolean;
}

/** The value after so many milliseconds, `from` being where the timeline itself names none; `over` once it stays `to`. */
export function valueAt(timeline: Timeline, from: number, elapsedMs: number): Moment {
  const start = timeline.from ?? from;
  const played = elapsedMs - (timeline.delay ?? 0);
  if (played <= 0) return { value: kept(timeline.property, start), over: false };
  const times = timeline.repeat ?? 1;
  const round = Math.floor(played / timeline.ms);
  if (times !== 0 && round >= times) return { value: kept(timeline.property, timeline.to), over: true };
  const share = played / timeline.ms - round;
  const forth = timeline.alternate === true && round % 2 === 1 ? 1 - share : share;
  const eased = CURVES[timeline.ease ?? 'in-out'](forth);
  return { value: kept(timeline.property, start + (timeline.to - start) * eased), over: false };
}

/** A spring goes too far, but no size and no opacity below nothing. */
function kept(property: Animated, value: number): number {
  const above = Math.max(LEAST[property] ?? Number.NEGATIVE_INFINITY, value);
  return property === 'opacity' ? Math.min(1, above) : above;
}

/** The nearest value that looks different from its neighbours. */
export function quantised(property: Animated, value: number): number {
  const step = STEPS[property];
  return Math.round(value / step) * step;
}

export const propertyOf = (node: NodeBase, property: Animated): number =>
  (node as Readonly<Partial<Record<Animated, number>>>)[property] ?? ABSENT[property];

/**
 * The scene as it looks at a moment of the monotonic clock: the values of its timelines in its nodes. Those that are
 * over are left out of the answer; those that run stay. `since` is when timelines without `at` began.
 */
export function sceneAt(scene: Scene, now: number, since: number): Scene {
  if (scene.timelines === undefined || scene.timelines.length === 0) return scene;
  const nodes = new Map<string, SceneNode>();
  for (const node of nodesOf(scene.nodes)) if (node.id !== undefined) nodes.set(node.id, node);
  const values = new Map<string, Record<string, number>>();
  const left: Timeline[] = [];
  for (const timeline of scene.timelines) {
    const node = nodes.get(timeline.node);
    if (node === undefined) continue;
    const { value, over } = valueAt(timeline, propertyOf(node, timeline.property), now - (timeline.at ?? since));
    values.set(timeline.node, { ...values.get(timeline.node), [timeline.property]: value });
    if (!over) left.push(timeline);
  }
  const { timelines: _, ...rest } = scene;
  const looks = { ...rest, nodes: withValues(scene.nodes, values) };
  return left.length === 0 ? looks : { ...looks, timelines: left };
}

/**
 * The scene without the timelines that are over, their ends in its nodes; those that run are as they were. Before a
 * patch, so that what is over does not count against the limit of timelines.
 */
export function settled(scene: Scene, now: number, since: number): Scene {
  const over = (scene.timelines ?? []).filter((timeline) => valueAt(timeline, 0, now - (timeline.at ?? since)).over);
  if (over.length === 0) return scene;
  const { timelines = [], ...rest } = scene;
  const done: Scene = sceneAt({ ...rest, timelines: over }, now, since);
  return { ...done, timelines: timelines.filter((timeline) => !over.includes(timeline)) };
}

function withValues(
  nodes: readonly SceneNode[],
  values: ReadonlyMap<string, Record<string, number>>,
): readonly SceneNode[] {
  return nodes.map((node) => {
    const inner: SceneNode =
      node.kind === 'group' ? ({ ...node, nodes: withValues(node.nodes, values) } satisfies GroupNode) : node;
    const change = node.id === undefined ? undefined : values.get(node.id);
    return change === undefined ? inner : ({ ...inner, ...change } as SceneNode);
  });
}
