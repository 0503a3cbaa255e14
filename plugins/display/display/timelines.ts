/** Timelines of a scene that lives long: those that are over go, those that came later say when they began. */
import { SCENE_LIMITS, type Scene, type SceneNode, type Timeline } from '@device-core/plugin-api/scene';

/** A node has one timeline for each property. */
export function keyOf({ node, property }: Pick<Timeline, 'node' | 'property'>): string {
  return `${node} ${property}`;
}

/** Milliseconds until it is over, its delay included. */
export function lengthOf({ ms, delay = 0, repeat = 1 }: Timeline): number {
  return repeat === 0 ? Number.POSITIVE_INFINITY : delay + ms * repeat;
}

/** The scene with room for `more` timelines: where it would have too many, those that are over become the values at which they ended. */
export function withRoom(scene: Scene, more: readonly Timeline[], over: (timeline: Timeline) => boolean): Scene {
  const { timelines = [] } = scene;
  const keys = new Set([...timelines, ...more].map(keyOf));
  if (keys.size <= SCENE_LIMITS.timelines) return scene;
  const ended = timelines.filter(over);
  if (ended.length === 0) return scene;
  const ends = Map.groupBy(ended, ({ node }) => node);
  const settle = (node: SceneNode): SceneNode => {
    const own = ends.get(node.id ?? '') ?? [];
    const values = Object.fromEntries(own.map(({ property, to }) => [property, to]));
    const inner = node.kind === 'group' ? { nodes: node.nodes.map(settle) } : {};
    return { ...node, ...values, ...inner } as SceneNode;
  };
  return { ...scene, nodes: scene.nodes.map(settle), timelines: timelines.filter((one) => !ended.includes(one)) };
}

/** For a renderer that was not there: timelines that began later than the scene have so much more delay. */
export function replayed(scene: Scene, since: number, began: ReadonlyMap<string, number>): Scene {
  if (began.size === 0 || !scene.timelines) return scene;
  const shift = (timeline: Timeline): Timeline => {
    const at = began.get(keyOf(timeline));
    return at === undefined ? timeline : { ...timeline, delay: (timeline.delay ?? 0) + Math.max(0, at - since) };
  };
  return { ...scene, timelines: scene.timelines.map(shift) };
}
