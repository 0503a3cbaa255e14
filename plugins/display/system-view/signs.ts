/** The corner of the microphone and the line beside it. Pure. */
import type { Surroundings } from '@device-core/plugin-api';
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
  TYPE,
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
  const disc: SceneNode = heard
    ? { kind: 'ellipse', w: 40, h: 40, fill: '@capture' }
    : { kind: 'ellipse', w: 40, h: 40, fill: '@raised', stroke: '@error', strokeWidth: 2 };
  const mark = iconNode(
    heard ? 'microphone' : 'muted',
    { x: 8, y: 8, size: 24 },
    { colour: heard ? '@background' : '@error' },
  );
  const sign: SceneNode = { kind: 'group', id: 'ear', x: 4, y: 4, w: 40, h: 40, label, nodes: [disc, mark] };
  return { scene: 1, background: '#00000000', nodes: [sign] };
}

export interface Notice {
  readonly level: 'info' | 'warn' | 'error';
  readonly icon: IconName;
  readonly text: string;
}

/** One line at the upper edge. It leaves the corner free. */
export function noticeScene(
  notice: Notice | undefined,
  { locale, textScale }: Pick<Surroundings, 'locale' | 'textScale'>,
): { readonly scene: Scene; readonly box: Rect } {
  const dir = directionOfLocale(locale);
  const line = Math.ceil(TYPE.caption.line * textScale);
  const h = line + 8;
  // The corner stays at the right whatever the language.
  const box = { x: 0, y: 0, w: STRIP_WIDTH, h: h + 8 };
  if (!notice) return { scene: NOTHING, box };
  const width = STRIP_WIDTH - 24 - 8;
  const icon = Math.min(32, line);
  const nodes: SceneNode[] = [
    {
      kind: 'rect',
      w: width,
      h,
      radius: Math.min(h / 2, 24),
      fill: '@raised',
      stroke: `@${notice.level}`,
      strokeWidth: 2,
    },
    iconNode(notice.icon, { x: 16, y: (h - icon) / 2, size: icon }, { colour: `@${notice.level}`, dir }),
    {
      ...{
        kind: 'text',
        x: 28 + icon,
        w: width - 44 - icon,
        h,
        text: foreignText(notice.text),
        role: 'caption',
        lines: 1,
      },
      ...{ valign: 'middle' },
    },
  ];
  const pill: SceneNode = {
    kind: 'group',
    x: 24,
    y: 4,
    w: width,
    h,
    label: foreignLabel(notice.text),
    nodes: directed(nodes, width, dir),
  };
  return { scene: { scene: 1, background: '#00000000', nodes: [pill] }, box };
}
