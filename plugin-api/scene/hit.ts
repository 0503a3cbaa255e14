/** Which node was meant by a touch. */
import { maybe } from '../kits/maybe.ts';
import { type GroupNode, SCENE_LIMITS, type Scene, type SceneNode } from './scene.ts';

export interface Hit {
  readonly node?: string;
  readonly tap: string;
}

interface Target extends Hit {
  /** Units between the finger and the box; 0 within. */
  readonly distance: number;
  /** Length of the longer way out of the box that the target reaches. */
  readonly reach: number;
}

/**
 * The node with `tap` at a place of the scene, as it looks now (`sceneAt`). Of several that hold the place the one
 * above all; else the nearest of those smaller than 88 units whose enlarged box holds it.
 */
export function hitTest(scene: Scene, x: number, y: number): Hit | undefined {
  let best: Target | undefined;
  for (const target of targets(scene.nodes, x, y)) {
    if (target.distance === 0) {
      best = target;
      break;
    }
    if (target.distance <= target.reach && (best === undefined || target.distance < best.distance)) best = target;
  }
  return best && { tap: best.tap, ...maybe({ node: best.node }) };
}

/** From above; x and y in the coordinates of the group they are in. */
function* targets(nodes: readonly SceneNode[], x: number, y: number): Generator<Target> {
  for (let index = nodes.length - 1; index >= 0; index -= 1) {
    const node = nodes[index]!;
    if ((node.opacity ?? 1) === 0 || (node.scale ?? 1) === 0) continue;
    const [w, h] = sizeOf(node);
    const [px, py] = inside(node, w, h, x, y);
    const clipped = node.kind === 'group' && node.clip === true && (px < 0 || py < 0 || px > w || py > h);
    if (node.kind === 'group' && !clipped) yield* targets(node.nodes, px, py);
    if (node.tap === undefined || clipped) continue;
    const dx = Math.max(-px, px - w, 0);
    const dy = Math.max(-py, py - h, 0);
    const reach = Math.max(0, (SCENE_LIMITS.target - Math.min(w, h)) / 2);
    const near = dx <= Math.max(0, (SCENE_LIMITS.target - w) / 2) && dy <= Math.max(0, (SCENE_LIMITS.target - h) / 2);
    if (dx + dy > 0 && !near) continue;
    yield {
      tap: node.tap,
      ...maybe({ node: node.id }),
      distance: Math.hypot(dx, dy),
      reach: reach * Math.SQRT2,
    };
  }
}

/** A place as the node sees it: from its corner, before it was turned and scaled about its middle. */
function inside(node: SceneNode, w: number, h: number, x: number, y: number): readonly [number, number] {
  const [cx, cy] = [w / 2, h / 2];
  const [dx, dy] = [x - (node.x ?? 0) - cx, y - (node.y ?? 0) - cy];
  const angle = (-(node.rotate ?? 0) * Math.PI) / 180;
  const scale = node.scale ?? 1;
  return [
    cx + (dx * Math.cos(angle) - dy * Math.sin(angle)) / scale,
    cy + (dx * Math.sin(angle) + dy * Math.cos(angle)) / scale,
  ];
}

export interface Place extends Hit {
  /** Its middle, in the coordinates of the scene. */
  readonly x: number;
  readonly y: number;
  /** The node itself. */
  readonly of: SceneNode;
}

/**
 * Everything with `tap` that is drawn, in the order in which it is drawn: for those who reach it without a finger. Give
 * it a scene as it looks now.
 */
export function tapsOf({ nodes }: Pick<Scene, 'nodes'>): readonly Place[] {
  return nodes.flatMap((node) => {
    if ((node.opacity ?? 1) === 0 || (node.scale ?? 1) === 0) return [];
    const [w, h] = sizeOf(node);
    const [x, y] = outside(node, w, h, w / 2, h / 2);
    const { tap, id } = node;
    const own: Place[] = tap === undefined ? [] : [{ tap, x, y, of: node, ...maybe({ node: id }) }];
    if (node.kind !== 'group') return own;
    const inner = tapsOf(node).map((place): Place => {
      const [px, py] = outside(node, w, h, place.x, place.y);
      return { ...place, x: px, y: py };
    });
    return [...own, ...inner];
  });
}

/** A place of the node as what it lies in sees it. */
function outside(node: SceneNode, w: number, h: number, x: number, y: number): readonly [number, number] {
  const [cx, cy] = [w / 2, h / 2];
  const angle = ((node.rotate ?? 0) * Math.PI) / 180;
  const scale = node.scale ?? 1;
  const [dx, dy] = [(x - cx) * scale, (y - cy) * scale];
  return [
    (node.x ?? 0) + cx + dx * Math.cos(angle) - dy * Math.sin(angle),
    (node.y ?? 0) + cy + dx * Math.sin(angle) + dy * Math.cos(angle),
  ];
}

/** Width and height; of a group that says none, what its nodes reach. */
export function sizeOf(node: SceneNode): readonly [w: number, h: number] {
  if (node.kind !== 'group' || (node.w !== undefined && node.h !== undefined)) return [node.w ?? 0, node.h ?? 0];
  const [w, h] = reached(node);
  return [node.w ?? w, node.h ?? h];
}

function reached(group: GroupNode): readonly [w: number, h: number] {
  let [w, h] = [0, 0];
  for (const node of group.nodes) {
    const [wide, high] = sizeOf(node);
    w = Math.max(w, (node.x ?? 0) + wide);
    h = Math.max(h, (node.y ?? 0) + high);
  }
  return [w, h];
}
