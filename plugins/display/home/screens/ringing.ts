/** A timer that rings: how long it was, since when it rings, and one large button that ends it. */

import type { Layout, Scene, SceneNode } from '@device-core/plugin-api/scene';
import { GRID, ground, literal, PANEL_UNITS, target } from '@device-core/plugin-api/scene';
import type { Timer } from '@device-core/plugin-api/services/timers';
import { lengthText } from '../length.ts';
import { WIDTH, wholeScreen } from '../page.ts';
import type { Strings } from '../strings/index.ts';

const TOP = 40;
const FIGURES = 176;
const BUTTON = 168;
const MORE = 200;
/** More do not fit into the line. */
const MOST_NAMED = 2;
const LARGEST_CHARACTER = 176;

export async function ringing(
  timers: readonly Timer[],
  locale: string,
  strings: Strings,
  layout: Layout,
): Promise<Scene> {
  const { title, stop, more, moreLabel } = strings.ring;
  const named = timers.slice(0, MOST_NAMED).map(({ seconds }) => lengthText(seconds, locale));
  const lengths = [...named, ...(timers.length > MOST_NAMED ? [`+${timers.length - MOST_NAMED}`] : [])].join(' · ');
  const since = Math.min(...timers.map(({ at }) => at));
  const [name, length] = await layout.blocks(
    { text: title, role: 'title', width: WIDTH, lines: 1, align: 'center' },
    {
      text: literal(lengths),
      role: 'heading',
      width: WIDTH,
      lines: 1,
      align: 'center',
      colour: '@text-soft',
      weight: 400,
    },
  );
  const foot = PANEL_UNITS - GRID.margin - BUTTON;
  const words = name.height + length.height;
  const figures = await layout.fitted('00:00', 'hero', {
    width: WIDTH,
    height: Math.min(FIGURES, foot - TOP - words - GRID.gap),
  });
  const room = foot - TOP - words - figures.height - 2 * GRID.gap;
  const size = Math.min(LARGEST_CHARACTER, room);
  const nodes: SceneNode[] = [];
  let y = TOP + Math.max(0, Math.round((room - (size >= 96 ? size : 0)) / 2));
  if (size >= 96) {
    const x = (PANEL_UNITS - size) / 2;
    nodes.push({ kind: 'character', x, y, w: size, h: size, state: 'speaking', expression: 'happy' });
    y += size;
  }
  nodes.push(name.at(GRID.margin, y), length.at(GRID.margin, y + name.height), {
    kind: 'text',
    x: GRID.margin,
    y: y + name.height + length.height,
    w: WIDTH,
    h: figures.height,
    text: `{elapsed:${since}}`,
    role: 'hero',
    size: figures.size,
    weight: 700,
    align: 'center',
    lines: 1,
    tabular: true,
  });
  const stopX = GRID.margin + MORE + GRID.gap;
  nodes.push(
    await button(
      { tap: 'ring.more', text: more, label: moreLabel, x: GRID.margin, y: foot, w: MORE, isMain: false },
      layout,
    ),
    await button(
      { tap: 'ring.stop', text: stop, label: stop, x: stopX, y: foot, w: WIDTH - MORE - GRID.gap, isMain: true },
      layout,
    ),
  );
  return wholeScreen(`${title}, ${lengths}`, '@background', nodes, layout);
}

interface Button {
  readonly tap: string;
  readonly text: string;
  readonly label: string;
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly isMain: boolean;
}

async function button({ tap, text, label, x, y, w, isMain }: Button, layout: Layout): Promise<SceneNode> {
  const inner = w - 48;
  const fit = await layout.fitted(text, 'title', { width: inner, height: BUTTON - 32 });
  return target(
    tap.replaceAll('.', '-'),
    tap,
    { x, y, w, h: BUTTON },
    [
      ground(w, BUTTON, isMain ? '@accent' : '@raised', 64),
      {
        kind: 'text',
        x: 24,
        y: Math.round((BUTTON - fit.height) / 2),
        w: inner,
        h: fit.height,
        text,
        role: 'title',
        size: fit.size,
        weight: 700,
        colour: isMain ? '@on-accent' : '@text',
        align: 'center',
        lines: 1,
      },
    ],
    label,
  );
}
