/**
 * A timer that rings: how long it was, since when it rings, and one large button that ends it. An alarm has the time,
 * its text and Snooze.
 */

import type { Layout, Scene, SceneNode } from '@device-core/plugin-api/scene';
import { GRID, ground, literal, PANEL_UNITS, target } from '@device-core/plugin-api/scene';
import type { RingingAlarm } from '@device-core/plugin-api/services/alarms';
import type { Surroundings } from '@device-core/plugin-api/services/renderer';
import type { Timer } from '@device-core/plugin-api/services/timers';
import { lengthText } from '../length.ts';
import { WIDTH, wholeScreen } from '../page.ts';
import { localeOfWords, type Strings } from '../strings/index.ts';

const TOP = 40;
const FIGURES = 176;
const BUTTON = 168;
const MORE = 200;
/** More do not fit into the line. */
const MOST_NAMED = 2;
const LARGEST_CHARACTER = 176;

export interface Rings {
  readonly timers: readonly Timer[];
  readonly alarms: readonly RingingAlarm[];
}

interface Words {
  readonly title: string;
  /** Text or time of each. */
  readonly names: readonly string[];
  readonly figures: string;
  readonly more: Pick<Button, 'tap' | 'text' | 'label'>;
}

function wordsOf({ timers, alarms }: Rings, { locale, timeZone }: Surroundings, { ring }: Strings): Words {
  const lengths = timers.map(({ seconds }) => lengthText(seconds, localeOfWords(locale)));
  const [first] = alarms;
  if (!first) {
    const since = Math.min(...timers.map(({ at }) => at));
    const more = { tap: 'ring.more', text: ring.more, label: ring.moreLabel };
    return { title: ring.title, names: lengths, figures: `{elapsed:${since}}`, more };
  }
  const time = new Intl.DateTimeFormat(locale, { hour: 'numeric', minute: '2-digit', timeZone });
  const twelve = time.resolvedOptions().hour12 === true;
  return {
    title: first.kind === 'reminder' ? ring.reminder : ring.alarm,
    names: [...alarms.map(({ text, at }) => text ?? time.format(at)), ...lengths],
    figures: twelve ? '{time:h:mm}' : '{time:HH:mm}',
    more: { tap: 'ring.snooze', text: ring.snooze, label: ring.snoozeLabel },
  };
}

export async function ringing(
  rings: Rings,
  surroundings: Surroundings,
  strings: Strings,
  layout: Layout,
): Promise<Scene> {
  const { title, names, figures: figure, more } = wordsOf(rings, surroundings, strings);
  const { stop } = strings.ring;
  const left = names.length - MOST_NAMED;
  const lengths = [...names.slice(0, MOST_NAMED), ...(left > 0 ? [`+${left}`] : [])].join(' · ');
  const [name, length] = await layout.blocks(
    { text: title, role: 'title', width: WIDTH, lines: 1, align: 'center' },
    {
      text: literal(lengths),
      role: 'heading',
      width: WIDTH,
      lines: rings.alarms.length > 0 ? 2 : 1,
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
    text: figure,
    role: 'hero',
    size: figures.size,
    weight: 700,
    align: 'center',
    lines: 1,
    tabular: true,
  });
  const stopX = GRID.margin + MORE + GRID.gap;
  nodes.push(
    await button({ ...more, x: GRID.margin, y: foot, w: MORE, isMain: false }, layout),
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
