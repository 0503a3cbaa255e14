/** Motion that explains: a page comes from the tile that was touched, goes deeper from the end of the line, and back from its start. */
import {
  type Direction,
  PANEL_UNITS,
  type Rect,
  type Scene,
  type SceneNode,
  type Timeline,
} from '@device-core/plugin-api/scene';

export type Motion =
  | { readonly kind: 'tile'; readonly box: Rect }
  | { readonly kind: 'deeper' | 'back' | 'fade' }
  | { readonly kind: 'turn'; readonly further: boolean };

const MS = 240;
const WAY = 96;
/** A page does not come from a point. */
const SMALLEST = 0.4;

export function moving(scene: Scene, motion: Motion | undefined, dir: Direction): Scene {
  const timelines = motion === undefined ? [] : timelinesOf(motion, dir === 'rtl' ? -1 : 1);
  const ids = new Set(
    scene.nodes.flatMap((node) => (node.kind === 'group' ? [node.id, ...node.nodes.map(({ id }) => id)] : [node.id])),
  );
  const known = timelines.filter(({ node }) => ids.has(node));
  return known.length === 0 ? scene : { ...scene, timelines: known };
}

function timelinesOf(motion: Motion, end: number): readonly Timeline[] {
  const change = (node: string, property: Timeline['property'], from: number, to: number): Timeline => ({
    node,
    property,
    from,
    to,
    ms: MS,
    ease: 'out',
  });
  const opacity = (node: string) => change(node, 'opacity', 0, 1);
  switch (motion.kind) {
    case 'tile': {
      const { x, y, w, h } = motion.box;
      return [
        opacity('page'),
        change('page', 'scale', Math.max(SMALLEST, w / PANEL_UNITS), 1),
        change('page', 'x', Math.round(x + w / 2 - PANEL_UNITS / 2), 0),
        change('page', 'y', Math.round(y + h / 2 - PANEL_UNITS / 2), 0),
      ];
    }
    case 'deeper':
      return [opacity('page'), change('page', 'x', end * WAY, 0)];
    case 'back':
      return [opacity('page'), change('page', 'x', -end * WAY, 0)];
    case 'fade':
      return [opacity('page')];
    case 'turn':
      return [opacity('parts'), change('parts', 'y', motion.further ? WAY : -WAY, 0)];
  }
}

/** Box on the screen of the node with this tap. */
export function boxOf(nodes: readonly SceneNode[], tap: string, left = 0, top = 0): Rect | undefined {
  for (const node of nodes) {
    const box = { x: left + (node.x ?? 0), y: top + (node.y ?? 0), w: node.w ?? 0, h: node.h ?? 0 };
    if (node.tap === tap) return box;
    const found = node.kind === 'group' ? boxOf(node.nodes, tap, box.x, box.y) : undefined;
    if (found) return found;
  }
  return undefined;
}
