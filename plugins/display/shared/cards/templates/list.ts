import {
  GRID,
  ground,
  type Layout,
  type ListCard,
  onGrid,
  type SceneNode,
  target,
} from '@device-core/plugin-api/scene';
import { PAGER, pagerNodes, pagesOf, turning } from '../pages.ts';
import type { CardOptions, Filled, Room } from '../template.ts';

type Item = ListCard['items'][number];

const PADDING = 24;
const ICON = 48;
const GAP = 12;
const ROWS = 'card-rows';
/** A title needs as much beside a figure; else the figure goes below it. */
const LEAST_TITLE = 280;

/** Rows of a title, what it says below, and a figure at the end. */
export async function listCard(card: ListCard, room: Room, layout: Layout, options: CardOptions): Promise<Filled> {
  const all = await rows(card.items, room, layout);
  const fits = all.reduce((sum, { height }) => sum + height + GAP, -GAP) <= room.height;
  if (fits) return { nodes: stacked(all, card.items) };
  const width = room.width - PAGER.width - PAGER.gap;
  const narrow = await rows(card.items, { ...room, width }, layout);
  const pages = pagesOf(
    narrow.map(({ height }) => height),
    room.height,
    GAP,
  );
  const page = Math.min(Math.max(0, options.page ?? 0), pages.length - 1);
  const seen = (pages[page] ?? []).map((index) => ({ row: narrow[index], item: card.items[index] }));
  const nodes = stacked(
    seen.map(({ row }) => row).filter((row) => row !== undefined),
    seen.map(({ item }) => item).filter((item) => item !== undefined),
  );
  return {
    nodes: [
      { kind: 'group', id: ROWS, w: width, h: room.height, nodes },
      ...pagerNodes(page, pages.length, { x: width + PAGER.gap, y: 0, height: room.height }, layout),
    ],
    timelines: turning(ROWS, 0, options.turned),
  };
}

interface Row {
  readonly nodes: readonly SceneNode[];
  readonly width: number;
  readonly height: number;
}

function stacked(all: readonly Row[], items: readonly Item[]): SceneNode[] {
  let y = 0;
  return all.map(({ nodes, width, height }, index) => {
    const { id, title, body, value } = items[index] as Item;
    const box = { x: 0, y, w: width, h: height };
    y += height + GAP;
    return id === undefined
      ? { kind: 'group', ...box, nodes }
      : target(`row-${index}`, id, box, nodes, [title, body, value].filter((text) => text !== undefined).join(', '));
  });
}

/** Forms of a row, from the most that is fine to the least that still says what it is. */
const FORMS = [
  { lines: 2, body: 2, value: true },
  { lines: 1, body: 1, value: true },
  { lines: 1, body: 0, value: false },
] as const;

/** In the first form in which each of them is on a page whole. */
async function rows(items: readonly Item[], room: Room, layout: Layout): Promise<readonly Row[]> {
  let all: readonly Row[] = [];
  for (const form of FORMS) {
    const formed = items.map(({ body, value, ...item }) => ({
      ...item,
      ...(body === undefined || form.body === 0 ? {} : { body }),
      ...(value === undefined || !form.value ? {} : { value }),
    }));
    all = await rowsOf(formed, room.width, layout, form);
    if (all.every(({ height }) => height <= room.height)) break;
  }
  return all;
}

/** Two questions for all of them: figures first, for they say how wide the titles may be. */
async function rowsOf(
  items: readonly Item[],
  width: number,
  layout: Layout,
  form: { readonly lines: number; readonly body: number },
): Promise<readonly Row[]> {
  const inner = width - 2 * PADDING;
  const values = await layout.blocks(
    ...items.map(({ value }) =>
      value === undefined
        ? undefined
        : {
            text: value,
            role: 'label' as const,
            width: Math.round(inner * 0.6),
            lines: 1,
            colour: '@text-soft',
            tabular: true,
          },
    ),
  );
  const starts = items.map(({ icon }) => (icon === undefined ? 0 : ICON + GRID.gap));
  const whole = (index: number) => inner - (starts[index] ?? 0);
  const beside = items.map((_, index) => whole(index) - (values[index]?.width ?? 0) - 2 * GRID.gap);
  const below = beside.some((space, index) => values[index] !== undefined && space < LEAST_TITLE);
  const widths = items.map((_, index) => (below || values[index] === undefined ? whole(index) : beside[index]));
  const texts = await layout.blocks(
    ...items.flatMap(({ title, body }, index) => {
      const space = widths[index] ?? inner;
      return [
        { text: title, role: 'label' as const, width: space, lines: form.lines },
        body === undefined
          ? undefined
          : { text: body, role: 'caption' as const, width: space, lines: form.body, colour: '@text-soft' },
      ];
    }),
  );
  return items.map(({ icon }, index) => {
    const [title, body, value] = [texts[2 * index], texts[2 * index + 1], values[index]];
    const text =
      (title?.height ?? 0) + (body === undefined ? 0 : 4 + body.height) + (below && value ? 4 + value.height : 0);
    const height = onGrid(Math.max(GRID.target, text + 36));
    const middle = (part: number) => Math.round((height - part) / 2);
    const x = PADDING + (starts[index] ?? 0);
    const nodes: SceneNode[] = [ground(width, height)];
    if (icon !== undefined)
      nodes.push({
        kind: 'image',
        image: icon,
        fit: 'contain',
        x: PADDING,
        y: middle(ICON),
        w: ICON,
        h: ICON,
        radius: 12,
      });
    if (title) nodes.push(title.at(x, middle(text)));
    if (title && body) nodes.push(body.at(x, middle(text) + title.height + 4));
    if (value && below) nodes.push(value.at(x, middle(text) + text - value.height));
    else if (value)
      nodes.push(value.at(width - PADDING - value.width, middle(value.height), { w: value.width, align: 'end' }));
    return { nodes, width, height };
  });
}
