/** Home: the time, the day, the character, what is next. Nothing of it ticks here; the screen itself changes what changes. */
import type { Layout, Part, Scene, SceneNode } from '@device-core/plugin-api/scene';
import {
  GRID,
  ground,
  type IconName,
  iconNode,
  literal,
  onGrid,
  PANEL_UNITS,
  target,
} from '@device-core/plugin-api/scene';
import type { Drawing } from '../facts.ts';
import { WIDTH, wholeScreen } from '../page.ts';
import { bannerEnd } from '../parts/below-banner.ts';
import { problemTitle } from '../problem-text.ts';
import type { Strings } from '../strings/index.ts';
import { alarmLine } from './lists.ts';

const CLOCK = { top: 40, height: 208, least: 72 } as const;
const LARGEST_CHARACTER = 272;

export async function face({ facts, surroundings }: Drawing, strings: Strings, layout: Layout): Promise<Scene> {
  const { theme, locale, textScale } = surroundings;
  const foot = await bottom({ facts, surroundings }, strings, layout);
  const from = PANEL_UNITS - 40 - foot.height;
  const banner = await bannerEnd(facts.notifications, textScale, layout);
  const top = banner === undefined ? CLOCK.top : banner + GRID.gap;
  const { nodes, end } = await hours(locale, { top, room: from - 24 - top }, layout);
  nodes.push(...foot.nodes.map((node) => ({ ...node, y: (node.y ?? 0) + from })));
  const size = Math.min(LARGEST_CHARACTER, from - end - 24);
  if (size >= 96)
    nodes.push({
      kind: 'character',
      id: 'character',
      x: (PANEL_UNITS - size) / 2,
      y: end + (from - end - size) / 2,
      w: size,
      h: size,
    });
  const sky =
    theme.id === 'contrast'
      ? '@background'
      : {
          linear: 90,
          stops: [
            [0, '@background'],
            [0.45, '@background'],
            [1, '@accent-soft'],
          ] as const,
        };
  return wholeScreen(strings.home, sky, nodes, layout);
}

/** Time and day, as large as fits below `top`. A small room has the time alone; one too small to read from afar has neither. */
async function hours(
  locale: string,
  { top, room }: { readonly top: number; readonly room: number },
  layout: Layout,
): Promise<{ readonly nodes: SceneNode[]; readonly end: number }> {
  const twelve = new Intl.DateTimeFormat(locale, { hour: 'numeric' }).resolvedOptions().hour12 === true;
  const day = await layout.fitted('', 'heading', { width: WIDTH, height: layout.line('heading') }, longestDate(locale));
  const both = room - day.height >= CLOCK.least;
  const height = Math.min(CLOCK.height, both ? room - day.height : room);
  if (height < CLOCK.least) return { nodes: [], end: top };
  const clock = await layout.fitted('00:00', 'hero', { width: WIDTH, height });
  const line = { kind: 'text', x: GRID.margin, w: WIDTH, align: 'center', lines: 1 } as const;
  const nodes: SceneNode[] = [
    {
      ...line,
      y: top,
      h: clock.height,
      text: twelve ? '{time:h:mm}' : '{time:HH:mm}',
      role: 'hero',
      size: clock.size,
      weight: 700,
      tabular: true,
    },
  ];
  if (both)
    nodes.push({
      ...line,
      y: top + clock.height,
      h: day.height,
      text: '{date}',
      role: 'heading',
      size: day.size,
      weight: 400,
      colour: '@text-soft',
    });
  return { nodes, end: top + clock.height + (both ? day.height : 0) };
}

/** A Wednesday at the end of September: no other day is much longer in any language of the catalogue. */
function longestDate(locale: string): string {
  const day = Date.UTC(2022, 8, 28, 12);
  return new Intl.DateTimeFormat(locale, { weekday: 'long', day: 'numeric', month: 'long', timeZone: 'UTC' }).format(
    day,
  );
}

/** Timer, news or problem, and the ways to the other screens. */
async function bottom(
  { facts: { timers, alarms, notifications, problem }, surroundings }: Pick<Drawing, 'facts' | 'surroundings'>,
  strings: Strings,
  layout: Layout,
): Promise<Part> {
  const side = GRID.target;
  const gap = 12;
  const wide = WIDTH - 2 * (side + gap);
  // A text that stands above home as a banner or a toast is not said twice.
  const news = notifications.find(({ state }) => state !== 'showing');
  const [[timer], [alarm]] = [timers, alarms];
  const main = problem
    ? await pill(
        {
          tap: 'go.problem',
          icon: 'warn',
          colour: '@warn',
          text: problemTitle(problem, strings),
        },
        wide,
        layout,
      )
    : news
      ? await pill(
          { tap: 'go.notifications', icon: 'bell', colour: '@accent', text: news.text, above: news.title },
          wide,
          layout,
        )
      : await pill(
          { tap: 'go.notifications', icon: 'bell', colour: '@text-soft', text: strings.quiet, soft: true },
          wide,
          layout,
        );
  const counts = { tap: 'go.timers', icon: 'timer', colour: '@accent' } as const;
  // A timer is nearer than an alarm, and a room has one line for them.
  const running = timer
    ? await pill({ ...counts, text: `{countdown:${timer.at}}`, figure: true }, WIDTH, layout)
    : alarm && (await pill({ ...counts, text: alarmLine(alarm, surroundings) }, WIDTH, layout));
  const top = running === undefined ? 0 : running.height + gap;
  const button = (tap: string, icon: IconName, x: number, label: string) =>
    target(
      tap.replaceAll('.', '-'),
      tap,
      { x, y: top + (main.height - side) / 2, w: side, h: side },
      [ground(side, side, '@raised', side / 2), iconNode(icon, { x: 22, y: 22, size: 44 })],
      label,
    );
  return {
    height: top + main.height,
    nodes: [
      ...(running?.nodes ?? []).map((node) => ({ ...node, x: GRID.margin })),
      ...main.nodes.map((node) => ({ ...node, x: GRID.margin, y: top })),
      button('go.apps', 'apps', GRID.margin + wide + gap, strings.apps.title),
      button('go.settings', 'sliders', GRID.margin + wide + side + 2 * gap, strings.settings.title),
    ],
  };
}

interface Pill {
  readonly tap: string;
  readonly icon: IconName;
  readonly colour: string;
  readonly text: string;
  readonly above?: string;
  readonly soft?: boolean;
  /** A binding, in the middle. */
  readonly figure?: boolean;
}

async function pill(
  { tap, icon, colour, text, above, soft, figure }: Pill,
  width: number,
  layout: Layout,
): Promise<Part> {
  const x = 24 + 40 + 16;
  const inner = width - x - 28;
  const [line, head] = await layout.blocks(
    {
      text: figure ? '00:00:00' : text,
      role: 'label',
      width: inner,
      lines: 1,
      ...(soft ? { colour: '@text-soft', weight: 400 as const } : {}),
    },
    above === undefined
      ? undefined
      : { text: above, role: 'caption' as const, width: inner, lines: 1, colour: '@text-soft' },
  );
  const both = head !== undefined && head.height + line.height + 16 <= 112 ? head : undefined;
  const content = line.height + (both?.height ?? 0);
  const height = onGrid(Math.max(GRID.target, content + 16));
  const y = Math.round((height - content) / 2);
  const nodes: SceneNode[] = [
    ground(width, height, '@raised', Math.min(44, height / 2)),
    iconNode(icon, { x: 24, y: (height - 40) / 2, size: 40 }, { colour }),
    ...(both ? [both.at(x, y)] : []),
    line.at(x, y + (both?.height ?? 0), { text: figure ? text : literal(text), ...(figure ? { tabular: true } : {}) }),
  ];
  const box = { x: 0, y: 0, w: width, h: height };
  const id = tap.replaceAll('.', '-');
  // A figure that counts has no label: it is read as it is.
  if (figure) return { height, nodes: [{ kind: 'group', id, ...box, tap, nodes }] };
  return { height, nodes: [target(id, tap, box, nodes, above === undefined ? text : `${above}, ${text}`)] };
}
