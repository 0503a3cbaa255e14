/**
 * Pages of a card with more than fits: turned by a swipe or a tap. The owner of the card keeps the number of the
 * page.
 */
import {
  GRID,
  ground,
  iconNode,
  type Layout,
  nodesOf,
  type Scene,
  type SceneNode,
  type Timeline,
  target,
} from '@device-core/plugin-api/scene';

const TURN = /^card\.page\.(\d{1,3})$/;
const FURTHER = 'card-further';
const BACK = 'card-back';

/** The page that an input on the scene of a card leads to; undefined: it is none of its business, the owner of the card is told. */
export function turnedPage(
  scene: Scene,
  input: { readonly phase: string; readonly tap?: string; readonly direction?: string },
): number | undefined {
  const page = (tap: string | undefined) => {
    const found = tap === undefined ? undefined : TURN.exec(tap)?.[1];
    return found === undefined ? undefined : Number(found);
  };
  if (input.phase === 'tap') return page(input.tap);
  if (input.phase !== 'swipe' || (input.direction !== 'up' && input.direction !== 'down')) return undefined;
  const id = input.direction === 'up' ? FURTHER : BACK;
  for (const node of nodesOf(scene.nodes)) if (node.id === id) return page(node.tap);
  return undefined;
}

/** Rows of a height each, as pages that are `room` high. At least one row a page. */
export function pagesOf(heights: readonly number[], room: number, gap: number): readonly (readonly number[])[] {
  const pages: number[][] = [];
  let left = 0;
  for (const [index, height] of heights.entries()) {
    if (pages.length === 0 || left < height + gap) {
      pages.push([index]);
      left = room - height;
    } else {
      pages.at(-1)?.push(index);
      left -= height + gap;
    }
  }
  return pages;
}

export const PAGER = { width: GRID.target, gap: GRID.gap } as const;

/** Two arrows, one above the other at the end of the line, in a box of `height`; the first is the way back. */
export function pagerNodes(
  page: number,
  pages: number,
  box: { readonly x: number; readonly y: number; readonly height: number },
  layout: Layout,
): readonly SceneNode[] {
  const { words } = layout;
  const size = GRID.target;
  const dots = Math.max(0, box.height - 2 * size - 2 * GRID.gap);
  const arrow = (id: string, icon: 'up' | 'down', to: number, y: number, label: string): SceneNode =>
    target(
      id,
      `card.page.${to}`,
      { x: box.x, y, w: size, h: size },
      [ground(size, size, '@raised', size / 2), iconNode(icon, { x: 24, y: 24, size: 40 })],
      label,
    );
  const nodes: SceneNode[] = [];
  if (page > 0) nodes.push(arrow(BACK, 'up', page - 1, box.y, words.back));
  if (page < pages - 1) nodes.push(arrow(FURTHER, 'down', page + 1, box.y + box.height - size, words.further));
  const step = Math.min(28, dots / pages);
  if (step >= 14)
    for (let index = 0; index < pages; index += 1) {
      const here = index === page;
      const y = box.y + box.height / 2 + (index - (pages - 1) / 2) * step;
      const d = here ? 14 : 10;
      nodes.push({
        kind: 'ellipse',
        x: box.x + (size - d) / 2,
        y: y - d / 2,
        w: d,
        h: d,
        fill: here ? '@accent' : '@line',
      });
    }
  return nodes;
}

const TURN_MS = 260;
const TURN_WAY = 72;

/** A new page moves in from below, or from above on the way back. */
export function turning(node: string, y: number, turned: 'further' | 'back' | undefined): readonly Timeline[] {
  if (turned === undefined) return [];
  return [
    { node, property: 'y', from: y + (turned === 'further' ? TURN_WAY : -TURN_WAY), to: y, ms: TURN_MS, ease: 'out' },
    { node, property: 'opacity', from: 0, to: 1, ms: TURN_MS, ease: 'out' },
  ];
}
