/** The corner of the microphone and the line beside it. Pure. */
import type { Display } from '@device-core/plugin-api';
import {
  directed,
  directionOfLocale,
  foreignLabel,
  foreignText,
  type IconName,
  iconNode,
  PANEL_UNITS,
  type Rect,
  type Scene,
  type SceneNode,
} from '@device-core/plugin-api/scene';

/** The corner that is painted last, always. */
export const CORNER: Rect = { x: PANEL_UNITS - 48, y: 0, w: 48, h: 48 };
const STRIP_WIDTH = PANEL_UNITS - 48;

export type Ear =
  | { readonly state: 'free' }
  | { readonly state: 'muted' }
  | { readonly state: 'heard'; readonly by: readonly string[] };

export const NOTHING: Scene = { scene: 1, background: '#00000000', nodes: [] };

/** Heard: its own colour, which nothing else has. Muted: the same sign, struck out. */
export function earScene(ear: Ear): Scene {
  if (ear.state === 'free') return NOTHING;
  const heard = ear.state === 'heard';
  const label = heard ? foreignLabel('The microphone is heard by', ear.by.join(', ')) : 'The microphone is muted';
  const disc: SceneNode = { kind: 'ellipse', w: 40, h: 40, fill: heard ? '@capture' : '@raised' };
  const mark = heard
    ? iconNode('microphone', { x: 7, y: 7, size: 26 }, { colour: '@background', weight: 1.1 })
    : iconNode('muted', { x: 6, y: 6, size: 28 }, { colour: '@error' });
  const sign: SceneNode = { kind: 'group', id: 'ear', x: 4, y: 4, w: 40, h: 40, label, nodes: [disc, mark] };
  return { scene: 1, background: '#00000000', nodes: [sign] };
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
  // The corner stays at the right whatever the language.
  const box = { x: 0, y: 0, w: STRIP_WIDTH, h: h + 8 };
  if (!notice) return { scene: NOTHING, box };
  const text = foreignText(notice.text);
  const icon = Math.min(28, line);
  const most = STRIP_WIDTH - 24 - 8 - icon - 44;
  const [size] = await display.measure([{ text, role: 'caption', width: most, lines: 1 }]);
  const room = Math.min(most, Math.ceil(size?.width ?? most) + 1);
  const width = room + icon + 44;
  const nodes: SceneNode[] = [
    { kind: 'rect', w: width, h, radius: Math.min(h / 2, 24), fill: '@raised' },
    iconNode(notice.icon, { x: 12, y: (h - icon) / 2, size: icon }, { colour: `@${notice.level}`, dir }),
    { kind: 'text', x: 22 + icon, w: room, h, text, role: 'caption', lines: 1, valign: 'middle' },
  ];
  const x = dir === 'rtl' ? STRIP_WIDTH - 8 - width : 24;
  const label = foreignLabel(notice.text);
  const pill: SceneNode = { kind: 'group', x, y: 4, w: width, h, label, nodes: directed(nodes, width, dir) };
  return { scene: { scene: 1, background: '#00000000', nodes: [pill] }, box };
}
