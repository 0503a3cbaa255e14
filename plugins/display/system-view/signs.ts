/** The corner of the microphone and the line beside it. Pure. */

import {
  directed,
  directionOfLocale,
  foreignLabel,
  foreignText,
  GRID,
  type IconName,
  iconNode,
  PANEL_UNITS,
  type Rect,
  type Scene,
  type SceneNode,
} from '@device-core/plugin-api/scene';
import type { Display } from '@device-core/plugin-api/services/display';
import type { Strings } from './strings/index.ts';

/** The corner that is painted last, always. */
export const CORNER: Rect = { x: PANEL_UNITS - 48, y: 0, w: 48, h: 48 };
const STRIP_WIDTH = PANEL_UNITS - 48;
const DOT = 14;

export type Ear =
  | { readonly state: 'free' }
  | { readonly state: 'muted' }
  /** The voice alone, before its name was called. */
  | { readonly state: 'name' }
  | { readonly state: 'heard'; readonly by: readonly string[] };

export const NOTHING: Scene = { scene: 1, background: '#00000000', nodes: [] };

/** Heard: its own colour, which nothing else has. Waiting for its name: a dot of it. Muted: the sign, struck out. */
export function earScene(ear: Ear, { ear: words }: Pick<Strings, 'ear'>): Scene {
  if (ear.state === 'free') return NOTHING;
  const label = ear.state === 'heard' ? foreignLabel(words.heard, ear.by.join(', ')) : words[ear.state];
  const sign: SceneNode = { kind: 'group', id: 'ear', x: 4, y: 4, w: 40, h: 40, label, nodes: signOf(ear.state) };
  return { scene: 1, background: '#00000000', nodes: [sign] };
}

function signOf(state: 'muted' | 'name' | 'heard'): readonly SceneNode[] {
  const disc = (d: number, fill: string): SceneNode => ({
    kind: 'ellipse',
    x: 20 - d / 2,
    y: 20 - d / 2,
    w: d,
    h: d,
    fill,
  });
  // The ring keeps the dot apart from what an app paints there.
  if (state === 'name') return [disc(DOT + 6, '@background'), disc(DOT, '@capture')];
  if (state === 'muted')
    return [disc(40, '@raised'), iconNode('muted', { x: 6, y: 6, size: 28 }, { colour: '@error' })];
  const mark = iconNode('microphone', { x: 7, y: 7, size: 26 }, { colour: '@background', weight: 1.1 });
  return [disc(40, '@capture'), mark];
}

export interface Notice {
  readonly level: 'info' | 'warn' | 'error';
  readonly icon: IconName;
  readonly text: string;
}

/** One line at the upper edge, as wide as what it says. It leaves the corner free. */
export async function noticeScene(
  notice: Notice | undefined,
  display: Pick<Display, 'measure' | 'surroundings'>,
): Promise<{ readonly scene: Scene; readonly box: Rect }> {
  const { locale, textScale, theme } = await display.surroundings();
  const dir = directionOfLocale(locale);
  const line = Math.ceil(theme.type.caption.line * textScale);
  const h = line + 8;
  // The corner stays at the right in every language.
  const box = { x: 0, y: 0, w: STRIP_WIDTH, h: h + 8 };
  if (!notice) return { scene: NOTHING, box };
  const text = foreignText(notice.text);
  const icon = Math.min(28, line);
  const most = STRIP_WIDTH - GRID.margin - 8 - icon - 44;
  const [size] = await display.measure([{ text, role: 'caption', width: most, lines: 1 }]);
  const room = Math.min(most, Math.ceil(size?.width ?? most) + 1);
  const width = room + icon + 44;
  const nodes: SceneNode[] = [
    { kind: 'rect', w: width, h, radius: Math.min(h / 2, 24), fill: '@raised' },
    iconNode(notice.icon, { x: 12, y: (h - icon) / 2, size: icon }, { colour: `@${notice.level}`, dir }),
    { kind: 'text', x: 22 + icon, w: room, h, text, role: 'caption', lines: 1, valign: 'middle' },
  ];
  const x = dir === 'rtl' ? STRIP_WIDTH - 8 - width : GRID.margin;
  const label = foreignLabel(notice.text);
  const pill: SceneNode = { kind: 'group', x, y: 4, w: width, h, label, nodes: directed(nodes, width, dir) };
  return { scene: { scene: 1, background: '#00000000', nodes: [pill] }, box };
}
