import { type Layout, literal, type SceneNode, type TextCard } from '@device-core/plugin-api/scene';
import { PAGER, pagerNodes, turning } from '../pages.ts';
import type { CardOptions, Filled, Room } from '../template.ts';

const GAP = 16;
/** Part of the height that a figure takes. */
const LARGEST = 0.45;
const BODY = 'card-body';

/**
 * A figure or a word in large letters, and what it says below. A text that is longer than the screen is turned, a whole
 * number of lines at a time.
 */
export async function textCard(card: TextCard, room: Room, layout: Layout, options: CardOptions): Promise<Filled> {
  const { value, body } = card;
  const nodes: SceneNode[] = [];
  let top = 0;
  if (value !== undefined) {
    const fit = await layout.fitted(value, 'hero', { width: room.width, height: room.height * LARGEST });
    const text = literal(value);
    nodes.push({
      kind: 'text',
      w: room.width,
      h: fit.height,
      text,
      role: 'hero',
      size: fit.size,
      weight: 700,
      lines: 1,
    });
    top = fit.height + GAP;
  }
  const colour = value === undefined ? '@text' : '@text-soft';
  const [whole] = await layout.blocks(
    body === undefined ? undefined : { text: body, role: 'body' as const, width: room.width, colour },
  );
  const height = whole === undefined ? top - GAP : top + whole.height;
  if (height <= room.height) {
    // A figure stands a little above the middle, where the eye looks for it; a text begins below its title.
    const start = value === undefined ? 0 : Math.round((room.height - height) * 0.4);
    const placed = whole === undefined ? nodes : [...nodes, whole.at(0, top)];
    return { nodes: placed.map((node) => ({ ...node, y: (node.y ?? 0) + start })) };
  }
  if (body === undefined) return { nodes };
  // A readable text is worth more than a figure that leaves no place for it.
  if (room.height - top < 2 * PAGER.width + PAGER.gap) {
    nodes.length = 0;
    top = 0;
  }
  const width = room.width - PAGER.width - PAGER.gap;
  const [long] = await layout.blocks({ text: body, role: 'body', width, colour });
  if (long === undefined) return { nodes };
  const line = layout.line('body');
  const each = Math.max(1, Math.floor((room.height - top) / line));
  const pages = Math.ceil(long.lines / each);
  const page = Math.min(Math.max(0, options.page ?? 0), pages - 1);
  nodes.push({
    kind: 'group',
    id: 'card-window',
    x: 0,
    y: top,
    w: width,
    h: Math.ceil(each * line),
    clip: true,
    nodes: [{ ...long.at(0, -page * each * line, { lines: Math.min(64, long.lines) }), id: BODY }],
  });
  nodes.push(...pagerNodes(page, pages, { x: width + PAGER.gap, y: top, height: room.height - top }, layout));
  return { nodes, timelines: turning(BODY, -page * each * line, options.turned) };
}
