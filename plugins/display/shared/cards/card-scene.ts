/** From what a card means to what is seen. Pure: the same card, text scale, language and measure make the same scene. */
import { maybe } from '@device-core/plugin-api';
import {
  buttons,
  type Card,
  type CardTemplate,
  cardWords,
  directed,
  directionOfLocale,
  GRID,
  Layout,
  onGrid,
  PANEL_UNITS,
  type Part,
  type Scene,
  type SceneNode,
} from '@device-core/plugin-api/scene';
import type { CardOptions, Template } from './template.ts';
import { choiceCard } from './templates/choice.ts';
import { imageCard } from './templates/image.ts';
import { listCard } from './templates/list.ts';
import { mediaCard } from './templates/media.ts';
import { progressCard } from './templates/progress.ts';
import { textCard } from './templates/text.ts';
import { timerCard } from './templates/timer.ts';

const TEMPLATES: { readonly [T in CardTemplate]: Template<Extract<Card, { template: T }>> } = {
  text: textCard,
  list: listCard,
  choice: choiceCard,
  image: imageCard,
  progress: progressCard,
  media: mediaCard,
  timer: timerCard,
};

const ICON = 56;
const HEADER_GAP = 24;
/**
 * Least room between title and buttons: two targets below each other, and a gap. With less, titles and buttons have
 * one line each.
 */
const LEAST_ROOM = 2 * GRID.target + GRID.gap + GRID.unit;

/** A title at the top, buttons at the bottom, and the template between them. */
export async function cardScene(card: Card, options: CardOptions): Promise<Scene> {
  const dir = directionOfLocale(options.locale);
  const { theme, textScale, measure } = options;
  const layout = new Layout({ theme, textScale, dir, words: cardWords(options.locale), measure });
  const width = PANEL_UNITS - 2 * GRID.margin;
  let frame = await framed(card, width, layout, 2);
  if (frame.end - frame.top < LEAST_ROOM) frame = await framed(card, width, layout, 1);
  const { header, footer, top, end } = frame;
  const room = { width, height: end - top };
  const fill = TEMPLATES[card.template] as Template<Card>;
  const filled = await fill(card, room, layout, options);
  const nodes: SceneNode[] = [
    ...moved(header.nodes, GRID.margin, GRID.margin),
    ...moved(filled.nodes, GRID.margin, top),
    ...moved(footer.nodes, GRID.margin, PANEL_UNITS - GRID.margin - footer.height),
  ];
  const ids = new Set(filled.nodes.map(({ id }) => id));
  // Timelines of places speak of the place on the screen.
  const timelines = (filled.timelines ?? []).map((timeline) =>
    timeline.property === 'y' && ids.has(timeline.node)
      ? { ...timeline, from: (timeline.from ?? 0) + top, to: timeline.to + top }
      : timeline,
  );
  return {
    scene: 1,
    ...maybe({ title: card.title }),
    background: '@surface',
    nodes: directed(nodes, PANEL_UNITS, dir),
    ...(timelines.length === 0 ? {} : { timelines }),
    ...maybe({ progress: filled.progress }),
  };
}

function moved(nodes: readonly SceneNode[], x: number, y: number): SceneNode[] {
  return nodes.map((node) => ({ ...node, x: (node.x ?? 0) + x, y: (node.y ?? 0) + y }));
}

async function framed(card: Card, width: number, layout: Layout, lines: number) {
  const header = await head(card, width, layout, lines);
  const footer = await buttons(card.actions ?? [], width, layout, lines);
  const top = GRID.margin + (header.height === 0 ? 0 : header.height + HEADER_GAP);
  const end = PANEL_UNITS - GRID.margin - (footer.height === 0 ? 0 : footer.height + HEADER_GAP);
  return { header, footer, top, end };
}

/** The media card has its title beside its picture. */
async function head(card: Card, width: number, layout: Layout, lines: number): Promise<Part> {
  const { icon } = card;
  const title = card.template === 'media' ? undefined : card.title;
  if (title === undefined) return { nodes: [], height: 0 };
  const x = icon === undefined ? 0 : ICON + GRID.gap;
  const [block] = await layout.blocks({ text: title, role: 'title', width: width - x, lines });
  if (block === undefined) return { nodes: [], height: 0 };
  const first = layout.line('title');
  const nodes: SceneNode[] = [block.at(x, 0)];
  if (icon !== undefined)
    nodes.push({
      kind: 'image',
      image: icon,
      fit: 'contain',
      x: 0,
      y: Math.max(0, Math.round((first - ICON) / 2)),
      w: ICON,
      h: ICON,
      radius: 14,
    });
  return { nodes, height: onGrid(Math.max(block.height, icon === undefined ? 0 : ICON)) };
}
