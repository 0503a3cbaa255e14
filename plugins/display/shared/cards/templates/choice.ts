import {
  type ChoiceCard,
  GRID,
  ground,
  type Layout,
  onGrid,
  type SceneNode,
  target,
} from '@device-core/plugin-api/scene';
import { PAGER, pagerNodes, pagesOf, turning } from '../pages.ts';
import type { CardOptions, Filled, Room } from '../template.ts';

const PADDING = 24;
const ICON = 56;
const GAP = 16;
const TILES = 'card-tiles';

/** Tiles, two beside each other where all titles fit in half a line. They share the height that is there. */
export async function choiceCard(card: ChoiceCard, room: Room, layout: Layout, options: CardOptions): Promise<Filled> {
  const [body] = await layout.blocks(
    card.body === undefined
      ? undefined
      : { text: card.body, role: 'body' as const, width: room.width, lines: 3, colour: '@text-soft' },
  );
  // A question that leaves no place for its answers is shortened to nothing: the title says it, too.
  const said = body !== undefined && body.height + GAP + 2 * GRID.target <= room.height ? body : undefined;
  const top = said === undefined ? 0 : said.height + 24;
  const space = { width: room.width, height: room.height - top };
  const intro = said === undefined ? [] : [said.at(0, 0)];
  const grid = await tiles(card, space, layout);
  const count = Math.ceil(card.options.length / grid.columns);
  const least = count * grid.height + (count - 1) * GAP;
  if (least <= space.height) {
    const height = Math.min(Math.floor((space.height - (count - 1) * GAP) / count), Math.max(grid.height, 240));
    return { nodes: [...intro, ...placed(card, grid, height, 0, card.options.length).map(down(top))] };
  }
  const width = space.width - PAGER.width - PAGER.gap;
  const narrow = await tiles(card, { ...space, width }, layout);
  const lines = Array.from({ length: Math.ceil(card.options.length / narrow.columns) }, () => narrow.height);
  const pages = pagesOf(lines, space.height, GAP);
  const page = Math.min(Math.max(0, options.page ?? 0), pages.length - 1);
  const from = (pages[page]?.[0] ?? 0) * narrow.columns;
  const to = Math.min(card.options.length, ((pages[page]?.at(-1) ?? 0) + 1) * narrow.columns);
  return {
    nodes: [
      ...intro,
      {
        kind: 'group',
        id: TILES,
        y: top,
        w: width,
        h: space.height,
        nodes: placed(card, narrow, narrow.height, from, to),
      },
      ...pagerNodes(page, pages.length, { x: width + PAGER.gap, y: top, height: space.height }, layout),
    ],
    timelines: turning(TILES, top, options.turned),
  };
}

const down =
  (by: number) =>
  (node: SceneNode): SceneNode => ({ ...node, y: (node.y ?? 0) + by });

interface Tiles {
  readonly columns: number;
  readonly width: number;
  readonly height: number;
  readonly contents: readonly ((height: number) => readonly SceneNode[])[];
}

async function tiles(card: ChoiceCard, room: Room, layout: Layout): Promise<Tiles> {
  const { width } = room;
  const icons = card.options.some(({ icon }) => icon !== undefined);
  const start = icons ? ICON + GRID.gap : 0;
  const ask = (wide: number, lines: number) =>
    layout.blocks(
      ...card.options.map(({ title }) => ({
        text: title,
        role: 'label' as const,
        width: wide - 2 * PADDING - start,
        lines,
        ...(icons ? {} : { align: 'center' as const }),
      })),
    );
  const half = (width - GAP) / 2;
  const narrow = await ask(half, 1);
  const columns = narrow.every(({ cut }) => !cut) ? 2 : 1;
  const wide = columns === 2 ? half : width;
  const blocks =
    columns === 2 ? narrow : await ask(width, onGrid(2 * layout.line('label') + 36) <= room.height ? 2 : 1);
  const least = Math.max(GRID.target, ...blocks.map(({ height }) => height + 36));
  return {
    columns,
    width: wide,
    height: onGrid(least),
    contents: blocks.map((block, index) => (height) => {
      const icon = card.options[index]?.icon;
      return [
        ground(wide, height),
        ...(icon === undefined
          ? []
          : [
              {
                kind: 'image' as const,
                image: icon,
                fit: 'contain' as const,
                x: PADDING,
                y: (height - ICON) / 2,
                w: ICON,
                h: ICON,
                radius: 12,
              },
            ]),
        block.at(PADDING + start, Math.round((height - block.height) / 2)),
      ];
    }),
  };
}

function placed(card: ChoiceCard, grid: Tiles, height: number, from: number, to: number): SceneNode[] {
  return card.options.slice(from, to).map(({ id, title }, place) => {
    const x = (place % grid.columns) * (grid.width + GAP);
    const y = Math.floor(place / grid.columns) * (height + GAP);
    const nodes = grid.contents[from + place]?.(height) ?? [];
    return target(`option-${from + place}`, id, { x, y, w: grid.width, h: height }, nodes, title);
  });
}
