/** Buttons: round ends, one filled with the accent at most, beside each other where their titles fit. */
import type { GroupNode, RectNode, SceneNode } from '../scene.ts';
import { undirected } from '../text-layout.ts';
import { GRID } from '../theme.ts';
import type { Layout, Part } from './layout.ts';
import { onGrid } from './layout.ts';

export interface ButtonSpec {
  readonly id: string;
  readonly title: string;
  readonly primary?: boolean;
}

const PADDING = 32;
/** Code units of a label. */
const MOST_LABEL = 200;

/** A target: a ground with something on it. */
export function target(
  id: string,
  tap: string,
  box: { readonly x: number; readonly y: number; readonly w: number; readonly h: number },
  nodes: readonly SceneNode[],
  label: string,
): GroupNode {
  return { kind: 'group', id, ...box, tap, label: label.slice(0, MOST_LABEL), nodes };
}

/** Background of a row, a tile or a button. */
export function ground(w: number, h: number, fill: string = '@raised', radius: number = GRID.radius): RectNode {
  return { kind: 'rect', w, h, radius, fill, stroke: '@outline', strokeWidth: 2 };
}

/** In the order given, the primary one at the end of the line, or on top where they stand below each other. From y 0 down, `width` wide. */
export async function buttons(specs: readonly ButtonSpec[], width: number, layout: Layout, lines = 2): Promise<Part> {
  if (specs.length === 0) return { nodes: [], height: 0 };
  const half = (width - GRID.gap) / 2;
  const narrow = await layout.blocks(
    ...specs.map(({ title }) => ({ text: title, role: 'label' as const, width: half - 2 * PADDING, lines: 1 })),
  );
  const beside = specs.length === 2 && narrow.every(({ cut }) => !cut);
  const wide = beside ? half : width;
  const blocks = await layout.blocks(
    ...specs.map(({ title, primary }) => ({
      text: title,
      role: 'label' as const,
      width: wide - 2 * PADDING,
      lines,
      align: 'center' as const,
      colour: primary ? '@on-accent' : '@text',
    })),
  );
  const height = onGrid(Math.max(GRID.target, ...blocks.map((block) => block.height + 2 * GRID.gap)));
  const first = (one: number, other: number) =>
    Number(specs[one]?.primary ?? false) - Number(specs[other]?.primary ?? false);
  const order = specs.map((_, index) => index).sort(beside ? first : (one, other) => first(other, one));
  const nodes = order.map((index, place) => {
    const { id, title, primary } = specs[index] as ButtonSpec;
    const block = blocks[index];
    const x = beside ? place * (half + GRID.gap) : 0;
    const y = beside ? 0 : place * (height + GRID.gap);
    return target(
      `action-${index}`,
      id,
      { x, y, w: wide, h: height },
      [
        ground(wide, height, primary ? '@accent' : '@raised', height / 2),
        ...(block ? [block.at(PADDING, Math.round((height - block.height) / 2))] : []),
      ],
      undirected(title).replaceAll('{{', '{'),
    );
  });
  return { nodes, height: beside ? height : specs.length * height + (specs.length - 1) * GRID.gap };
}
