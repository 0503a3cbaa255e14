/** A page of the device: the way back, a title, and parts below each other, as many as fit. */
import { maybe } from '@device-core/plugin-api';
import type { Layout, Part, Scene, SceneNode } from '@device-core/plugin-api/scene';
import { directed, GRID, ground, iconNode, PANEL_UNITS, target } from '@device-core/plugin-api/scene';
import { pagerNodes, pagesOf } from '../shared/cards/index.ts';
import { unescaped } from './parts/part.ts';
import type { Strings } from './strings/index.ts';

export const WIDTH = PANEL_UNITS - 2 * GRID.margin;
const TOP = 32;
const GAP = 12;

export interface PageSpec {
  readonly title: string;
  /** With what width a part is made. */
  readonly parts: (width: number) => Promise<readonly Part[]>;
  /** In the middle of the page where there are no parts. */
  readonly empty?: Part;
}

/** The whole screen as one group, `page`, so that it can come from somewhere. */
export function wholeScreen(
  title: string,
  background: Scene['background'],
  nodes: readonly SceneNode[],
  layout: Layout,
): Scene {
  const group: SceneNode = { kind: 'group', id: 'page', w: PANEL_UNITS, h: PANEL_UNITS, nodes };
  return {
    scene: 1,
    title,
    ...maybe({ background }),
    nodes: directed([group], PANEL_UNITS, layout.dir),
  };
}

export async function page(spec: PageSpec, at: number, strings: Strings, layout: Layout): Promise<Scene> {
  const header = await head(spec.title, strings, layout);
  const top = TOP + header.height + 20;
  const height = PANEL_UNITS - GRID.margin + 8 - top;
  const parts = await spec.parts(WIDTH);
  const nodes: SceneNode[] = [...header.nodes];
  const whole = parts.reduce((sum, part) => sum + part.height + GAP, -GAP);
  if (parts.length === 0 && spec.empty !== undefined)
    nodes.push(...down(spec.empty, top + Math.round((height - spec.empty.height) * 0.4), GRID.margin));
  else if (whole <= height) nodes.push(...stacked(parts, top));
  else {
    const narrow = await spec.parts(WIDTH - GRID.target - GRID.gap);
    const heights = narrow.map((part) => part.height);
    const pages = pagesOf(heights, height, GAP);
    const here = Math.min(Math.max(0, at), pages.length - 1);
    nodes.push(
      {
        kind: 'group',
        id: 'parts',
        nodes: stacked(
          (pages[here] ?? []).map((index) => narrow[index]).filter((part) => part !== undefined),
          top,
        ),
        w: PANEL_UNITS,
        h: PANEL_UNITS,
      },
      ...pagerNodes(here, pages.length, { x: PANEL_UNITS - GRID.margin - GRID.target, y: top, height }, layout),
    );
  }
  return wholeScreen(unescaped(spec.title), '@background', nodes, layout);
}

const down = (part: Part, by: number, x: number): SceneNode[] =>
  part.nodes.map((node) => ({ ...node, x: (node.x ?? 0) + x, y: (node.y ?? 0) + by }));

function stacked(parts: readonly Part[], from: number): SceneNode[] {
  let y = from;
  return parts.flatMap((part) => {
    const placed = down(part, y, GRID.margin);
    y += part.height + GAP;
    return placed;
  });
}

async function head(title: string, strings: Strings, layout: Layout): Promise<Part> {
  const side = GRID.target;
  const x = GRID.margin + side + 20;
  const width = PANEL_UNITS - GRID.margin - x;
  // A title that is longer gets smaller: it says where one is. It is no higher than the way back, for it takes its room from what it names.
  const fit = await layout.fitted(title, 'title', { width, height: Math.min(side, layout.line('title')) });
  const height = side;
  return {
    height,
    nodes: [
      target(
        'back',
        'back',
        { x: GRID.margin, y: TOP, w: side, h: side },
        [ground(side, side, '@raised', side / 2), iconNode('back', { x: 24, y: 24, size: 40 }, { dir: layout.dir })],
        strings.back,
      ),
      {
        kind: 'text',
        x,
        y: TOP + Math.round((height - fit.height) / 2),
        w: width,
        h: fit.height,
        text: title,
        role: 'title',
        size: fit.size,
        weight: 700,
        lines: 1,
      },
    ],
  };
}
